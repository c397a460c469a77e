// Package task runs tasks of a plan. A task needs the plan, its number and a
// directory for its files. It knows no other task, no destination and no lock, so
// it may run on any machine, repeatedly, and several times at once.
//
//	plan ──Open──► Runner ──Run──► for each task, as many at a time as
//	                               workers and memory allow:
//	    pieces of inputs ──mapper──► row groups ──reducer──► DIR/part-00012-0-<id>.trv.staged
//	                     ├──damaged ranges──────reducer──► DIR/quarantine-<id>-00003-a.avro@512-2048
//	                     └──rows──Sink──side files──reducer──► DIR/side-<id>-00012-<name>
//	                                          and, last ──► DIR/task-00012.json
//
// A Sink gets each row, and a directory to spill to. It works with every format that
// stores columns. MakeIndex makes an index of the side files of all tasks, before their
// output is published.
//
// Column files have the same bytes each time, with any machine, workers and memory.
// Their names differ, because each file has a unique name. The result names the files
// of a task, so other files are those of an interrupted attempt. If a task runs twice,
// the later result replaces the earlier one; both name complete files. Work finds
// results and checks files, to resume the work of a plan, to commit it, and to complete
// its output.
//
// A task that maps takes memory for its open column blocks, for the input blocks in
// flight and for the spill. This memory is reserved before the first task begins. The
// rest of the memory is for blocks and values of unusual size, of one task at a time.
// While a task only uploads its last row group, another task may map.
//
// Errors have a kind of package failure. If a plan does not fit this machine, the error
// is failure.Usage. If an input is damaged, gone or changed, it is failure.Input.
package task
