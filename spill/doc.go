// Package spill keeps the finished blocks of a row group on local disk until
// its size is known: one temporary file per column, to which blocks are
// appended, and from which the reducer copies them. What the blocks are, and
// where each begins, is the format's business.
//
//	parent/                           --temp-dir
//	  rowtocol-spill-<random>/        Folder: of one process, locked with flock
//	    0/                            Spill: one row group
//	      0  1  2  ...                a file per column, made at its first block
//
// A closed spill leaves its files, empty, to the next one.
//
// A folder whose lock is free belongs to a dead process, and the next
// OpenFolder removes it; so nothing remains for longer than a run, however the
// last one ended.
//
// The open files of all spills of a folder stay within one budget, so that
// rows of 10,000 columns pass where 256 files may be open: beyond it, the file
// that was used longest ago is closed, and opened again at need.
package spill
