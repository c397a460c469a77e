// Package job runs conversions: it puts the three steps together that stand
// alone in packages plan, task and publish.
//
//	Convert   lock the destination → plan → tasks side by side → publish
//	RunTasks  some tasks of a plan document, anywhere, without the lock
//	Commit    lock the destination → check the work of all tasks → publish
//	Submit    plan → a RemoteRunner runs the tasks that are left → what Commit does
//
// All of them leave unfinished work in the same directory of the destination, and each
// goes on with that of the others.
package job
