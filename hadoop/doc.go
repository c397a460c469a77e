// Package hadoop runs the tasks of plans as map tasks of one job on a Hadoop
// cluster. The job has no reduces and no Java code of ours: Hadoop Pipes starts this
// program for each task. Engine starts the job and waits for it; RunChild runs a task
// on a node.
//
//	Engine.Run ─► uploads the program, once, and the job's files to HDFS
//	           ─► mapred pipes -conf job.xml: Hadoop's own client prints the job's
//	              │                           progress, and how it ended
//	              ▼
//	           YARN ─► on each node, for each split: a JVM ─► this program: RunChild
//	                     finds in the task file the task that its split stands for,
//	                     runs it, and stores the result in the plan's work directory
//
// The two sides exchange nothing but files, so either can end and start again without
// the other. Run finds the job of an earlier run that is still running, and follows
// it; Attach follows a detached job.
//
//	HOME/.rowtocol/                  on the default file system; private to the user
//	    rowtocol-<hash>              the program; hash is that of its bytes
//	    job-<key>/                   files of a job, until it was followed to its end
//	        plans.json               the plans of the job
//	        tasks                    the task file: which split stands for which task
//	        carriers/<plan>-<task>   files whose splits stand for tasks
//	DEST/.rowtocol/plan-<id>/        work directory of a plan
//	    failed-<task>-<attempt>.json why an attempt failed
//
// The key is the ID of the run that started the job, and for further jobs of the run
// also a number. The job's name and tag contain it, so Run finds a job without its ID.
//
// # Splits
//
// Hadoop cuts files into splits as package plan cuts them into pieces, and runs each
// split near its bytes. So the split of a task is the one that Hadoop makes of its first
// piece: a part of a large file, or the first of a group of small files. Where that is
// not possible, a carrier stands for the task: a file of a few bytes, which every node
// reads equally well. Carriers stand for tasks that begin with
//
//   - a file whose name Hadoop's input format skips, or XML cannot hold
//   - a part of a file, if other parts of it are done already
//   - a part of a file that is cut by a size that differs from most of the job's, or is
//     less than 100 KiB
//   - a file whose path is also the path of an input of another plan or cluster
//   - a file after the first 4 MiB of names, because each JVM holds all names.
package hadoop
