// Package mapper turns one task's ranges of Avro input into spilled columns.
//
//	read ──► decode (parallel) ──► walk ──► encode (parallel) ──► spill
//	blocks   rows' bytes,          rows to  stored blocks,        a file per
//	of a     in input order        columns  in the order begun    column
//	range                            └─ roll: where a row group ends
//
// Each step is a file of that name; run.go puts them together. source.go has the
// input, rowgroup.go the open row group, workers.go the division of work, admit.go the
// limit of reading ahead, memory.go and workspace.go the memory, resolve.go rows of
// another schema, and damage.go what is left out.
//
// One goroutine, the shredder, walks rows, closes blocks and calls the format's row
// group, in row order. Workers decompress blocks before it and encode blocks after it.
// The shredder helps them whenever it would wait. Both kinds of results come back in
// order, so the same task makes the same bytes with any number of workers.
//
// The amount under way is bounded: blocks to encode by their number, input blocks by
// number and bytes. Memory that depends on the input comes from the task's share of
// package budget: input blocks, resolved rows, values beyond the usual size of column
// blocks. If the share has no room for a block, the reader leaves it to the shredder,
// which reads or decodes it when nothing else is under way, and waits until it may take
// more. To take more it first calls flush, which ends the encoding of all begun blocks.
// A task that has ended leaves its memory to the next one.
//
// The mapper hands out finished row groups: the sizes and pieces of their outputs, and
// the spill that holds their columns. It writes no output itself.
//
// A Sample does the same for a few blocks, so that a planner knows what they become:
// in one goroutine, and with counters in place of the spill.
package mapper
