// Package hadoop runs the tasks of plans as map tasks of one job on a Hadoop
// cluster. The job has no reduces and no Java of ours: Hadoop Pipes starts this
// program for each task. Engine is the side of who starts the job and waits for
// it, RunChild that of a task.
//
//	Engine.Run ─► the program, once, and the job's files to HDFS
//	           ─► mapred pipes -conf job.xml, Hadoop's own client, whose output says how
//	              │                          far the job is, and what became of it
//	              ▼
//	           YARN ─► on each node, for each split: a JVM ─► this program: RunChild
//	                     asks the task file which task its split stands for,
//	                     runs it, and leaves the result where the plan's work is
//
// Nothing passes between the two sides but files, so that either can end, and be
// begun again, without the other: Run finds the job of an earlier run that is
// still under way and follows it, Attach one that was left to itself.
//
//	HOME/.rowtocol/                  on the default file system; nobody else can enter
//	    rowtocol-<hash>              the program, by a hash of its bytes
//	    job-<key>/                   of a job, until it was followed to its end
//	        plans.json               which plans it is for
//	        tasks                    the task file: which split stands for which task
//	        carriers/<plan>-<task>   files whose splits stand for tasks
//	DEST/.rowtocol/plan-<id>/        of a plan, where its tasks leave their work
//	    failed-<task>-<attempt>.json why an attempt failed
//
// The key is the ID of the run that started the job. It is in the job's name, too,
// and in its tag, by which a job is found whose ID nobody was told.
//
// # Splits
//
// Hadoop cuts files into splits as package plan cuts them into pieces, and runs each
// where the bytes are. So a task's split is the one that Hadoop makes of its first
// piece: a part of a large file, or a small file whole, with which a group of small
// files begins. Where that is not possible, a carrier stands for the task: a file
// of a few bytes, which any node reads as well as another. These are
//
//   - files whose names Hadoop's input format passes over, or XML cannot hold
//   - parts of a file of which other parts are done already
//   - parts of files that are cut by another size than most of the job's, or by one
//     of less than 100 KiB
//   - two files with one path on two clusters
//   - files beyond those whose names make 4 MiB, because each JVM holds all names.
package hadoop
