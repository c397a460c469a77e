// Package spill keeps the finished blocks of a row group on local disk until
// the row group's size is known. It has one temporary file per column. Blocks
// are appended to these files, and the reducer copies the blocks from them. The
// format knows what the blocks are and where each begins.
//
//	parent/                           --temp-dir
//	  rowtocol-spill-<random>/        Folder: one process, locked with flock
//	    <random>/                     Spill: one row group
//	      0  1  2  ...                a file per column, made when memory ends
//
// The last bytes of each column stay in memory. Each column has an equal share
// of Options.Memory. When a block does not fit into the share, the bytes are
// written to the column's file, in few calls and in whole pages. A column that
// is smaller than its share has no file. Both together halve the time that
// spilling takes in the kernel.
//
// A closed spill leaves its memory and its files to the next spill, which
// overwrites them. That takes less than half the time of filling new pages. The
// next spill cuts off what it does not overwrite, so the files take at most
// 16 MiB per row group in progress more than these row groups need.
//
// If the lock of a folder is free, the folder belongs to a dead process, and
// the next OpenFolder removes it. So no folder remains longer than until the
// next run. All names in a folder are numbers. A file of another name is not
// this program's: it stays, and a warning names it.
//
// A Sorter sorts records by their keys. Records that do not fit into its memory
// go to a spill.
//
// One budget limits the open files of all spills of a folder, so that rows of
// 10,000 columns can be converted where 256 files may be open. When the limit is
// reached, the least recently used file is closed, and opened again when needed.
package spill
