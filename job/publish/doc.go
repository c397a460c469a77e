// Package publish manages the destination of a conversion: who may change it, which
// files in it are rowtocol's, and how staged files become its output. No other package
// renames files into a destination or removes files from it.
//
//	DEST/_SUCCESS                        the manifest of the output
//	DEST/part-<task>-<group>-<id>.trv    its parts, files or directories of files;
//	                                     every name holds the output's ID
//	DEST/_quarantine/<id>/…              its copies of damaged input
//	DEST/_index/<id>/…                   its indexes, made of side files of its tasks
//	DEST/increment-<number>-<id>/        an increment: another output, with all of the
//	                                     above in a directory of its own
//	DEST/_increments-<number>            an empty file, the marker: the last number that
//	                                     was given to an increment
//	DEST/_inputs                         inputs as surveys read them; any process may
//	                                     write or remove it
//	DEST/_lock                           names the holder; written once, never changed
//	DEST/.rowtocol/                      the work directory
//	DEST/.rowtocol/plan-<plan>/          staged work of a plan, by any process: plan.json,
//	                                     and results and files of tasks
//	DEST/.rowtocol/<holder>/             the own directory of a process
//	    alive-<n>                        a new name every 10 s: the holder lives
//	    pending-<n>                      the manifest of an output that is being published,
//	                                     and the staged names of its files
//	    plan-<plan>-<n>/                 the work that this output is made of
//	        increment-<number>-<id>/     an increment while it is assembled
//	    other-<n>                        the directory of a former holder
//	    retired-<n>                      a _SUCCESS that was replaced
//	    old-<n>                          a part, an increment, or the work of a plan, to be removed
//	DEST/.rowtocol/kept-<id>             the manifest of a replaced output or increment whose
//	                                     files stay for a time
//	DEST/.rowtocol/trash-<n>/            is being removed; nothing in it counts
//
// A staged file is one that may still be published. The holder is the process that took the lock
// last; the processes that had it before are former holders. The number of an output is its
// Sequence.
//
// Several processes may believe that they hold a destination: a process may be stopped and
// continued, or its call may take effect minutes late. They do no harm, because every change of
// a destination is a rename with one end in the directory of the process that makes it. Only
// _inputs, which no output depends on, is written without a rename. A process that gets the
// lock first moves all other directories into its own. The calls that a former holder still has
// under way then fail, because one end of each rename is gone. So that late and repeated calls
// fail as well, no rename replaces anything, every name is used once, and a holder's directory
// is made by one call whose result is certain, and never again.
//
// The lock only saves work: a holder reads it before each change, and before every 16th of
// many renames, so that a former holder stops early. Clocks are never compared: a process
// that waits for a lock watches the holder's directory, and takes over once nothing has
// changed there for Times.Stale by the clock of the waiting process.
//
// Tasks leave their work in the directory of their plan. They need no lock, and several
// attempts may run the same task at once: each attempt has file names of its own, writes its
// result last, and removes only its own files, and only before it writes its result. The
// directory is moved only into the directory of a holder, which publishes or removes the work. A
// new holder leaves plan directories in place when it moves the directories of former holders.
// Late tasks may make the directory again, without effect.
//
// Claim takes the lock, moves the directories of former holders into its own, completes an
// output that was being published, and moves out files that are not part of the output, and the
// work of plans that can never be committed. Publish makes the work of a plan the output:
//
//	pending manifest → work taken, and checked again
//	→ old _SUCCESS out → documents of kept outputs in → files in → old files out → _SUCCESS
//
// Taking the work means moving its directory into that of the holder, where no task writes. The
// pending manifest names the files that were checked, so later results of tasks do not matter.
// If the files changed before they were taken, the work is put back and the pending manifest is
// removed. The destination is then as it was.
//
// An increment does not replace anything. Its files and then its _SUCCESS are moved into
// a directory among its staged files, and one rename moves that into the destination:
//
//	pending manifest → files and _SUCCESS into one directory → marker of the number in →
//	that directory in → marker of the number before out
//
// No number is given twice, even if the increment with the last number was moved away, because
// that increment may come back. The next number is one more than the highest of the output, the
// increments, the markers and the pending outputs. If a holder was killed between the renames of
// markers, there are two markers, and the next holder moves the lower one out. An output that
// replaces everything has a higher number than the marker, and removes the marker.
//
// An increment names the output that it belongs to, its base, or none. It counts only while
// its base is the destination's output. A new output therefore replaces the former output and
// all its increments at the moment when the new _SUCCESS appears. The increments are moved out
// after that, if need be by the next holder, which knows them by their numbers: these are lower
// than the number of the output. All other increments of another base, and parts without a
// _SUCCESS, are orphans: a person deleted their output, or restored an older one. Only an output
// that replaces everything removes orphans, because their inputs may be gone. Until then the
// destination counts as damaged. The content of an increment's directory never changes, and its
// name is used once, so a process reads each increment once.
//
// The files of a replaced output may stay for a time, for readers that have them open. The pending
// manifest says for how long. Each output and increment that is kept has a document in the work
// directory, which is written after the old _SUCCESS is out, because the time begins then: no
// reader finds the output any more. A holder that completes the output writes the documents again.
// The old manifest is among those that were retired, and the increments are still in place. As long
// as there is a document, and an output that replaced the kept one, no holder moves the files out,
// and a new holder leaves the document in place. A holder compares the time of the document with
// that of its lock. It ends a kept output by moving out the document. The files then belong to no
// output, like those of any output that was replaced, and are moved out as such. So no document
// lists a file that a holder moved out.
//
// A plan that replaces outputs names the IDs of all that the destination held when the plan was
// made, without pending outputs. If the destination holds any other output, a commit is refused,
// and a conversion surveys its inputs again. An output names the IDs of all that the destination
// held when the lock was taken, and removes nothing else. If any other output came, the new one
// is given up.
//
// If two outputs of a destination have the rows of one input, the destination counts as damaged.
// An increment was then restored after its inputs were converted again, and only a person knows
// which of the two outputs is to go.
//
// A part that is a directory is like a file: one rename moves all its files in or out. The
// directories of copies and indexes are made before their files are moved in.
// Several renames are under way at a time, and the first that fails ends the rest.
//
// A pending manifest is the commit point: the next holder of the destination
// completes the output, and takes the work if it was not taken yet. If a file or an increment's
// base is lost, the output is given up. The rest of its work is then put back, to be used again.
// The manifest of the output that was to be replaced is put back as well, unless files of that
// output were moved out already.
//
// protocol/model.py explores these rules. It runs processes in a random order, pauses and kills
// them, moves their lock, repeats their calls late, and leaves out each rule in turn.
//
// Status reports all of this without a lock. Clean, as a holder, removes leftovers of dead
// holders once they are old enough by the clock of the storage. Unlock takes the lock
// away from a holder that a person knows to be dead.
package publish
