// Package hadoop runs the tasks of plans as map tasks of one job on a Hadoop
// cluster. The job has no reduces and no Java code of rowtocol: Hadoop Pipes starts this
// program for each task. Engine starts the job and waits for its end. RunChild runs a
// task on a node. In this package, Java is Hadoop's side of a task: the JVM that Hadoop
// starts for the task, and its input format.
//
//	Engine.Run ─► uploads the program, once, and the job's files to HDFS
//	           ─► mapred pipes -conf job.xml: Hadoop's own client prints the job's
//	              │                           progress, and how it ended
//	              ▼
//	           YARN ─► on each node, for each split: a JVM ─► this program: RunChild
//	                     finds in the task file the task of its split, runs the task,
//	                     and stores the result in the plan's work directory
//
// Engine and RunChild exchange nothing but files, so each can end and start again without
// the other. If the job of an earlier run is still running, Run finds that job and follows
// it: it waits for the end of the job. Attach follows a detached job.
//
//	HOME/.rowtocol/                  on the default file system; private to the user
//	    rowtocol-<hash>              the program; hash is that of its bytes
//	    job-<key>/                   files of a job, until it was followed to its end
//	        plans.json               the plans of the job
//	        tasks                    the task file, which assigns a task to each split
//	        carriers/<plan>-<task>   small files whose splits replace those of inputs
//	DEST/.rowtocol/plan-<id>/        work directory of a plan
//	    failed-<task>-<attempt>.json why an attempt failed
//
// The key is the ID of the run that started the job. Further jobs of the run have a number
// after the ID. The job's name and tag contain the key, so Run finds a job without the ID
// that Hadoop gave it.
//
// # Splits
//
// Hadoop cuts files into splits as package plan cuts them into pieces, and runs each
// split near its bytes. So a task gets the split that Hadoop makes of the task's first
// piece, which is a piece of a large file, or the first of a group of small files. Where
// that is not possible, the task gets the split of a carrier: a file of a few bytes, which
// every node reads equally well. A task gets a carrier if it begins with
//
//   - a file whose name Hadoop's input format skips, or XML cannot hold
//   - a piece of a file, if other pieces of the file are done already
//   - a piece of a file, if the split size of its plan is not that of most pieces of the
//     job, or is less than 100 KiB
//   - a file, if an input of another plan or cluster has the same path
//   - a file after the first 4 MiB of names, because each JVM holds all names.
package hadoop
