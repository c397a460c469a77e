// Package job is a conversion from beginning to end: the plan, the local
// engine that runs its tasks, the lock on the destination, and the commit.
//
// A destination while a job works in it, and what each name is for:
//
//	DEST/_lock                       who works here; see lock.go
//	DEST/.rowtocol/<plan id>/        the attempt
//	    plan.json                    the plan
//	    part-00000.trv               finished, verified parts
//	    task-00000.json              result of a finished task
//	    _quarantine/…                copies of damaged input ranges
//	    success.json                 there from the moment publishing begins
//	DEST/.rowtocol/replaced-<id>     the _SUCCESS that --overwrite retired
//	DEST/part-00000.trv              published parts
//	DEST/_quarantine/…               published copies
//	DEST/_SUCCESS                    success.json, renamed: the commit
//
// Every file appears under its name by a rename of complete bytes. What a dead
// job left is told apart from what others put there by those documents alone:
// a name that none of them lists is not ours, and is never touched.
//
// Tasks are deterministic, so a second holder of the lock, woken after it was
// taken over, can at worst make the same bytes again.
package job
