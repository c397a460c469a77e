// Package format is the seam between the program and the column formats. The layers
// above it (planning, conversion, reading, inspection) know formats only through the
// Registry that they are given.
//
// # Writing
//
//	Format.Writer ──► Writer ──► RowGroup ──► Outputs: sizes and pieces
//	                               ▲  │
//	                 raw blocks in │  ▼ EncodeJob, on any goroutine
//	                   row order   └─ stored blocks, in the same order ──► spill
//
// At the end a row group returns its files as sizes and pieces. So every size is known
// before the first byte is written, and one reducer serves all formats.
//
// A format that keeps rows whole has a RowWriter. Its row groups take the rows
// themselves, which the shredder sorts by a key, instead of blocks:
//
//	Rows: Admit each row ─► Start ─► Append each row, by key ─► Finish
//
// # Reading
//
//	Format.Open(files) ──► Part ──► Cursor ──► vectors
//
// A part is the files of one row group. A cursor reads one column of it, some hundred
// values per call. A RowPart has a RowReader instead of cursors.
package format
