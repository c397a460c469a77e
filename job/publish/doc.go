// Package publish is the destination of a conversion: who may change it, what
// in it is ours, and how staged files become its output. Nothing else renames
// into a destination or removes from it.
//
//	DEST/_SUCCESS                        the manifest of the output
//	DEST/part-<task>-<group>-<id>.trv    its parts, files or directories of files;
//	                                     every name holds the output's ID
//	DEST/_quarantine/<id>/…              its copies of damaged input
//	DEST/_index/<id>/…                   what was made of side files of its tasks
//	DEST/increment-<number>-<id>/        an increment: an output next to that one, with
//	                                     all of these in a directory of its own
//	DEST/_increments-<number>            an empty file: the last number that was given to
//	                                     an increment
//	DEST/_inputs                         what surveys read of inputs; any process may
//	                                     write or remove it
//	DEST/_lock                           names the holder; written once, never changed
//	DEST/.rowtocol/plan-<plan>/          unfinished work, whoever does it: plan.json, and
//	                                     results and files of tasks
//	DEST/.rowtocol/<holder>/             what a process has here, and it alone
//	    alive-<n>                        a new name every 10 s: the holder lives
//	    pending-<n>                      the manifest of an output that is being published,
//	                                     and the names of its files until then
//	    plan-<plan>-<n>/                 the work that it is made of
//	        increment-<number>-<id>/     an increment, while it is put together
//	    other-<n>                        what was a former holder's
//	    retired-<n>                      a _SUCCESS that was replaced
//	    old-<n>                          a part, an increment, or the work of a plan, to be removed
//	DEST/.rowtocol/trash-<n>/            is being removed; nobody looks into it
//
// Several processes may believe that they hold a destination: one that was
// stopped and wakes, or whose call lands minutes late. They do no harm, because
// every change of a destination, but for _inputs, which no output depends on, is
// a rename with one end in the directory of the process that makes it. Whoever gets the lock
// first moves all other directories into its own. What a former holder still has
// under way then fails, as one end of it is gone. So that this holds for calls
// that land twice or late as well, no rename replaces anything, every name is
// used once, and a holder's directory is made by one call whose answer is
// certain, and never again.
//
// The lock only saves work: a holder reads it before each change, and before every 16th of
// many renames, so that a former holder stops early. Clocks are never compared: a process
// that waits for a lock watches the holder's directory, and takes over once nothing has
// changed in it for as long as Times says, by its own clock.
//
// Tasks leave their work in the directory of their plan. They need no lock, and several
// may run the same task: each attempt has names of its own, writes its result last, and
// removes nothing but its own files, before its result. The directory leaves its place only
// by a rename into the directory of a holder, which publishes or removes it. It stays where
// it is when other holders' directories are moved. Late tasks make it again, for nothing.
//
// Claim takes the lock, moves the others away, completes an output that was
// being published, and moves out what is not part of the output, and the work of plans
// that can never be committed. Publish makes the work of a plan the output:
//
//	pending manifest → work taken, and checked again
//	→ old _SUCCESS out → files in → old files out → _SUCCESS
//
// The pending manifest names the files that were checked, so results that tasks leave after
// that do not matter. If the files changed before they were taken, the work is put back, and
// the manifest is removed: the destination is as it was.
//
// An increment does not replace anything. Its files and then its _SUCCESS are brought into
// a directory among its staged files, and that comes to the destination by one rename:
//
//	pending manifest → files and _SUCCESS into one directory → marker of the number in →
//	that directory in → marker of the number before out
//
// No number is given twice, also if the increment of the last one was moved away: it may
// come back. The next number is one more than the highest of the output, the increments,
// the markers and what waits to be published. Where a holder was killed between the
// renames there are two markers, of which the next holder moves the lower one out. An
// output that replaces all has a higher number than the marker, which then goes as well.
//
// An increment names the output that it belongs to, its base, or none. It counts only while
// that is the destination's: so an output that replaces another replaces its increments
// as well, all at the moment at which its _SUCCESS appears. They are moved
// out after that, by the next holder if need be: their numbers are below the output's. Increments of another base for which that is not so, and parts without a _SUCCESS,
// lost their output: somebody deleted it, or brought back an older one. Only an output
// that replaces all that is there removes them, as their inputs may be gone; until
// then the destination counts as damaged. What an increment's directory holds never
// changes, and its name is used once: a process reads each increment once.
//
// An output that replaces others names them, by their IDs: all that its destination held
// when its inputs were looked for, also what waited to be published. Whoever publishes or
// completes it removes nothing else. If anything else is there, a commit is refused, a
// conversion looks again, and an output that waits to be published is given up.
//
// Two outputs of a destination that have the rows of one input are damage: an increment
// came back whose inputs were converted again, and nobody knows which of the two is to go.
//
// A part that is a directory is like a file: one rename brings all its files in,
// or takes them out. Directories of copies are made before the files in them, and
// so are those of an index.
// Several renames are under way at a time, and the first that fails ends the rest.
//
// The pending manifest is the commit point: whoever holds the destination next
// completes it, and takes the work if that is still to be done. If a file is lost, or an
// increment's base is, the output is given up: what else its tasks did is put back, to
// be used again, and so is the manifest of the output that it was to replace, unless files
// of that one were moved out already.
//
// protocol/model.py explores these rules: runs in a random order, paused, killed, taken
// over and repeated late, and the rules without one of them each.
//
// Status looks at all that without a lock. Clean, as a holder, removes what dead ones
// left once it is old enough, by the clock of the storage, and Unlock takes the lock
// away from a holder that a person knows to be dead.
package publish
