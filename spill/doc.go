// Package spill keeps the finished blocks of a row group on local disk until
// its size is known: one temporary file per column, to which blocks are
// appended, and from which the reducer copies them. The format knows what the
// blocks are and where each begins.
//
//	parent/                           --temp-dir
//	  rowtocol-spill-<random>/        Folder: of one process, locked with flock
//	    <random>/                     Spill: one row group
//	      0  1  2  ...                a file per column, made when memory ends
//
// The last bytes of each column stay in memory, in an equal share of
// Options.Memory, and are written when the next block does not fit. So a column
// that is smaller than its share has no file at all, and the others are written
// in few calls, of whole pages: half of what spilling costs the kernel depends
// on these two.
//
// A closed spill leaves its memory and its files to the next one, which
// overwrites what they hold: that costs less than half of filling new pages.
// Together they take no more disk than row groups are under way, but for 16 MiB
// each: what the next one does not overwrite is cut off.
//
// A folder whose lock is free belongs to a dead process, and the next
// OpenFolder removes it; so nothing remains for longer than a run, however the
// last one ended. All names in a folder are numbers: a file of another name is
// not this program's and stays, and a warning names it.
//
// A Sorter puts records in the order of their keys, with a spill for what does not
// fit its memory.
//
// The open files of all spills of a folder stay within one budget, so that
// rows of 10,000 columns pass where 256 files may be open: beyond it, the file
// that was used longest ago is closed, and opened again at need.
package spill
