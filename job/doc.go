// Package job runs conversions. It combines three steps, each of which has a package of its
// own: plan, task and publish.
//
//	Convert   lock the destination → plan → run tasks in parallel → publish
//	RunTasks  run some tasks of a plan document, on any machine, without the lock;
//	          RunTasksIn does the same under a scheduler
//	Commit    lock the destination → check the work of all tasks → publish
//	Submit    plan → a RemoteRunner runs the tasks that are left → the steps of Commit
//
// All of them keep unfinished work in the same directory of the destination, and each can
// continue the work of the others.
//
// Convert takes these steps. Steps 1 to 3 run without the lock, so that a run with nothing to
// do is quick and an error in the inputs does not create the destination. Other processes may
// change the destination until step 4, so step 5 repeats the decisions of steps 1 to 3.
//
//  1. look reads what the destination holds (package publish).
//  2. find surveys the inputs: their files, schema and columns (packages input and plan). It
//     does not open inputs of earlier outputs.
//  3. decide compares both with the request: nothing to do, refused, or go on.
//  4. claim takes the lock. It completes an output whose publisher died.
//  5. update takes the state under the lock and surveys again if that changed. Then decide runs again.
//  6. choose makes the plan from a sample of the rows, or resumes an earlier plan.
//  7. stage makes the directory for the plan's work, writes the plan there, and finds which
//     tasks are done (package task).
//  8. runTasks runs the tasks that are not done. Each task maps its input to row groups, and
//     stores the row groups and a result in that directory (packages task, mapper, spill and
//     reducer).
//  9. publishWork checks inputs, results and files, makes indexes, and has package publish rename
//     the files into the destination. Writing the pending manifest is the commit point: once it
//     is written, the next process that takes the lock completes the output.
//  10. discard removes the work after an error that a rerun cannot fix. Then the lock is released.
//  11. If inputs are left, for example because a resumed plan has only some of them, all steps
//     repeat.
//
// Submit takes steps 1 to 3, 6 and 7 without the lock, has a RemoteRunner take step 8, and
// then takes the steps of Commit: 1, 4 and 9.
package job
