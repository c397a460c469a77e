// Package format is the seam between the program and the column formats. What
// is above it (planning, conversion, reading, inspection) knows formats only by
// the Registry that it is given.
//
// # Writing
//
//	Format.Writer ──► Writer ──► RowGroup ──► Outputs: sizes and pieces
//	                               ▲  │
//	                 raw blocks in │  ▼ EncodeJob, on any goroutine
//	                   row order   └─ stored blocks, in the same order ──► spill
//
// At the end a row group names its files as sizes and pieces, so that every size
// is known before the first byte is written, and one reducer serves all formats.
//
// A format that keeps rows whole has a RowWriter. Its row groups take no blocks but the
// rows themselves, which whoever shreds them sorts by a key:
//
//	Rows: Admit each row ─► Start ─► Append each row, by key ─► Finish
//
// # Reading
//
//	Format.Open(files) ──► Part ──► Cursor ──► vectors
//
// A part is the files of one row group. A cursor reads one column of it: one
// call gives some hundred values. A RowPart has a RowReader in place of cursors.
package format
