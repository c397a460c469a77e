// Package task runs tasks of a plan. A task needs the plan, its number and a
// directory to leave its work in; it knows no other task, no destination and no
// lock. So a task may run on any machine, be repeated, and run twice at once.
//
//	plan ──Open──► Runner ──Run──► for each task, as many at a time as
//	                               workers and memory allow:
//	    pieces of inputs ──mapper──► row groups ──reducer──► DIR/part-00012-0-<id>.trv
//	                     ├──damaged ranges──────reducer──► DIR/quarantine-<id>-00003-a.avro@512-2048
//	                     └──rows──Sink──side files──reducer──► DIR/side-<id>-00012-<name>
//	                                          and, last ──► DIR/task-00012.json
//
// What rides along is a Sink's: it is given each row, whatever the format of the
// parts, and has a directory to spill to. Of the side files of all tasks Last makes
// an index, before their output is published.
//
// The files of column data have the same bytes each time, whatever the machine,
// the workers and the memory. Their names differ, because each file has a name
// that nothing else ever has. The result is what tells a task's files from those
// that an interrupted run left; of two runs of a task the later one's result
// stays, and either names complete files. Work finds results and checks files, for
// who resumes the work of a plan, who commits it, and who completes its output.
//
// Memory is that of the open column blocks, of the input blocks on their way
// and of the spill, for each task that maps; it is reserved before the first begins.
// What is left is for blocks and values of unusual size, of one task at a time. A
// task that only uploads its last row group makes room for another one.
//
// Errors have a kind of package failure: a plan that does not fit this machine is
// Usage, and an input that is damaged, gone or changed is Input.
package task
