// Package format is the interface between the program and the column formats. Planning,
// conversion, reading and inspection use formats only through a Registry.
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
// A format that keeps rows whole has a RowWriter. Instead of blocks, its row groups get the
// rows, which are sorted by a key:
//
//	Rows: Admit each row ─► Start ─► Append each row, by key ─► Finish
//
// # Reading
//
//	Format.Open(files) ──► Part ──► Cursor ──► vectors
//
// A part is the files of one row group, or a file of several. A cursor reads one column of a part,
// some hundred values per call. A RowPart has a RowReader instead of cursors. Part.Verify calls a
// Runner with the pieces of its work, so that several goroutines verify one part.
package format
