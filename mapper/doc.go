// Package mapper turns one task's ranges of Avro input into spilled columns.
//
//	read ──► decode (parallel) ──► walk ──► encode (parallel) ──► spill
//	blocks   rows' bytes,          rows to  stored blocks,        a file per
//	of a     in input order        columns  in the order begun    column
//	range                            └─ roll: where a row group ends
//
// Each step is a file of that name. In run.go they are put together; source.go has
// what is read, rowgroup.go what the columns become; workers.go says who does what,
// admit.go how much is read ahead, memory.go and workspace.go where memory comes from
// and who has it next, resolve.go how rows get another schema, damage.go what is left
// out and what is not.
//
// One goroutine shreds, closes blocks and talks to the format's row group, in
// row order. Decompression runs ahead of it and block encoding behind it: both
// are jobs for a pool of workers, to which the shredder itself belongs whenever
// it would have to wait. Both give their results back in order, so the same task
// makes the same bytes whatever runs in parallel.
//
// How much is under way is bounded: blocks to encode by their number, input
// blocks by number and bytes. What depends on the input comes from the task's share
// of package budget: input blocks, resolved rows, values beyond the usual size of
// column blocks. A block for which the share has no room is left for the shredder: it
// reads or decodes it when nothing else is under way, and waits for its turn to take
// more. Tasks hand their memory on to each other.
//
// What the mapper hands out is a finished row group: its outputs' sizes and
// pieces, and the spill that holds their columns. It writes no output itself.
//
// A Sample takes the same way for a few blocks, for planners: alone in its
// goroutine, and with counters in place of the spill.
package mapper
