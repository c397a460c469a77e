// Package job runs conversions: it puts the three steps together that stand
// alone in packages plan, task and publish.
//
//	Convert   lock the destination → plan → tasks side by side → publish
//	RunTasks  some tasks of a plan document, anywhere, without the lock;
//	          RunTasksIn where a scheduler runs them
//	Commit    lock the destination → check the work of all tasks → publish
//	Submit    plan → a RemoteRunner runs the tasks that are left → what Commit does
//
// All of them leave unfinished work in the same directory of the destination, and each
// goes on with that of the others.
//
// Convert takes these steps. Steps 1 to 3 run without the lock, so that a run with nothing to
// do is quick and an error of the inputs does not make the destination. Since others may
// change it until step 4, steps 1 to 3 decide nothing that changes it: step 5 repeats them.
//
//  1. look reads what the destination holds (package publish).
//  2. find surveys the inputs: which files they are, their schema and its columns (packages
//     input and plan). Inputs of earlier outputs are known and not opened.
//  3. decide compares both with the request: nothing to do, refused, or go on.
//  4. claim takes the lock. An output whose publisher died is completed.
//  5. update looks at the state under the lock and surveys again if it changed; then decide.
//  6. choose makes the plan from a sample of the rows, or resumes one of an earlier run.
//  7. stage makes the directory of the plan's work, keeps the plan there, and finds which
//     tasks are done (package task).
//  8. runTasks runs the others. Each maps its input to row groups, and stores these and a
//     result in that directory (packages task, mapper, spill and reducer).
//  9. publishWork checks inputs, results and files, makes indexes, and has publish rename
//     the files into the destination. The pending manifest that it writes first is the commit
//     point: after that, whoever takes the lock completes the output.
//  10. discard removes the work after an error that a rerun cannot mend; the lock is released.
//  11. If inputs are left, as after resuming work on some of them, it all begins again.
//
// Submit takes steps 1 to 3, 6 and 7 without the lock, has a RemoteRunner take step 8, and then
// does what Commit does: steps 1, 4 and 9.
package job
