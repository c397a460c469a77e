// Package publishtest explores what runs on one destination can do to each
// other. Outputs are a small file and a directory of two, given, so that nothing but
// package publish and the store is at work. Runs are stopped, killed or delayed at each of their
// calls to the store, and others go on meanwhile, past the time after which they
// must think the first dead. What it demands:
//
//   - a reader that follows _SUCCESS gets one output and the increments that came beside it,
//     whole, as they were at one moment, or is told why not;
//   - a finished output is replaced by a later run only, and only with leave, and increments
//     beside it go after it;
//   - nothing is replaced that came after the look of the run which replaces it;
//   - no rows come twice, in two increments;
//   - what tasks left that ran elsewhere can be published for as long as nothing else was;
//   - afterwards any run completes, and leaves its output and nothing else.
//
// Runs move one part at a time, so that a schedule is the same whenever it runs.
//
// The same schedules run on every kind of store.
package publishtest
