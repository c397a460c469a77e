// Package job runs conversions: it puts the three steps together that stand
// alone in packages plan, task and publish.
//
//	Convert   plan → claim the destination → tasks side by side → publish
//	RunTasks  some tasks of a plan document, anywhere; they leave their work
//	Commit    claim the destination → check the work of all tasks → publish
//	Submit    plan → Elsewhere runs the tasks that are left → what Commit does
//
// Convert is Commit after RunTasks in one process, but for the directory in which
// the tasks leave their work: it is the run's own.
package job
