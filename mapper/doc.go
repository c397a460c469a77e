// Package mapper turns one task's ranges of Avro input into spilled columns.
//
//	scanner ──► decoders (parallel) ──► shredder ──► encoders (parallel) ──► spill
//	blocks of    rows' bytes,            one per      stored blocks,         a file per
//	a range      in input order          row group    in the order begun     column
//
// One goroutine shreds, closes blocks and talks to the format's row group, in
// row order; decompression runs ahead of it and block encoding behind it, on
// goroutines of their own, and both give their results back in order. So the
// same task makes the same bytes whatever runs in parallel.
//
// What the mapper hands out is a finished row group: its outputs' sizes and
// pieces, and the spill that holds their columns. It writes no output itself.
package mapper
