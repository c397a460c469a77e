// Package mapper turns one task's ranges of Avro input into spilled columns.
//
//	read ──► decode (parallel) ──► walk ──► encode (parallel) ──► spill
//	blocks   rows' bytes,          rows to  stored blocks,        a file per
//	of a     in input order        columns  in the order begun    column
//	range                            └─ roll: where a row group ends
//
// Each step is a file of the same name, and run.go calls the steps. source.go has the
// input, rowgroup.go the open row group, workers.go and helpers.go the division of work,
// admit.go the limit of reading ahead, memory.go and workspace.go the memory, resolve.go
// the rows of another schema, and damage.go the input that is left out.
//
// One goroutine, the shredder, walks rows, closes blocks and calls the format's row
// group, in row order. Workers decompress the blocks that the shredder will read, and
// encode the blocks that it has closed. Instead of waiting, the shredder does such work
// itself. Workers of tasks that have ended do such work, too: see Helpers. Decompressed and
// encoded blocks are used in order, so the same task makes the same bytes with any number
// of workers.
//
// The number of blocks to encode is bounded, and so are the number and the bytes of
// input blocks. Memory for input blocks, resolved rows and unusually large values
// depends on the input, and comes from the task's share of package budget. If the share
// has no room for a block, the block is left to the shredder, which reads or decodes it
// when no other input is in progress. The shredder then waits for memory. Before it
// waits, it calls flush, which ends the encoding of all closed blocks. A task that has
// ended leaves its memory to the next task.
//
// The results are finished row groups: the sizes and pieces of their outputs, and the
// spill that holds their columns. The mapper writes no output itself.
//
// A Feed takes rows from its caller instead of reading blocks. The caller then does the
// work of the shredder.
//
// A Sample maps a few blocks in one goroutine, with counters in place of the spill, so
// that a planner knows the sizes of their columns.
package mapper
