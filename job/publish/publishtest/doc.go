// Package publishtest explores how runs on one destination can affect each other. Tasks
// write fixed outputs, a small file and a directory of two files, so that only package publish
// and the store are tested. Runs are stopped, killed or delayed at each of their calls to the
// store. Meanwhile other runs continue, until they consider the first run dead and beyond.
// The package requires that:
//
//   - a reader that follows _SUCCESS gets one output and its increments, intact, as they
//     were at one moment, or an error that says why not;
//   - a finished output is replaced only by a later run with overwrite, and its increments
//     are removed after it;
//   - replaced files that are to stay do so until their time is over;
//   - a run replaces nothing that came after it read the state of the destination;
//   - no rows are in two increments;
//   - work of tasks that ran elsewhere can be published until another output is published;
//   - in the end any run completes, and leaves its output and nothing else.
//
// Runs move one part at a time, so that a schedule is always the same.
//
// The same schedules run on every kind of store.
package publishtest
