// Package mapper turns one task's ranges of Avro input into spilled columns.
//
//	scanner ──► decode (parallel) ──► shredder ──► encode (parallel) ──► spill
//	blocks of   rows' bytes,          one per      stored blocks,        a file per
//	a range     in input order        row group    in the order begun    column
//
// One goroutine shreds, closes blocks and talks to the format's row group, in
// row order. Decompression runs ahead of it and block encoding behind it: both
// are jobs for a pool of workers, to which the shredder itself belongs whenever
// it would have to wait. Both give their results back in order, so the same task
// makes the same bytes whatever runs in parallel.
//
// How much is under way is bounded: blocks to encode by their number, input
// blocks by number and bytes. Tasks hand this memory on to each other.
//
// What the mapper hands out is a finished row group: its outputs' sizes and
// pieces, and the spill that holds their columns. It writes no output itself.
//
// A Sample takes the same way for a few blocks, for planners: alone in its
// goroutine, and with counters in place of the spill.
package mapper
