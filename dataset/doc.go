// Package dataset reads column files back: one file, the parts of a committed
// output, an output with its increments, or any number of these in several places, as
// one sequence of rows.
//
// List finds the files and opens none. Open makes a Dataset of them, whose rows
// come in two forms:
//
//	Scan     one Avro datum after another
//	Batches  the values of columns side by side, some thousand rows at a time
//
// Both give all fields or the chosen ones, of all rows or of those that a
// condition selects: its columns are read first, the others only in blocks
// with rows that match, and sought in them.
//
// # Trees
//
// Directories named key=value may hold outputs, or more of such directories:
//
//	mail/dt=2026-01-01/hour=9/_SUCCESS, part-…
//	mail/dt=2026-01-01/hour=10/increment-00000001-…/_SUCCESS, part-…
//
// The keys are fields of the rows below, behind those in the files: a constant of
// each part. Directories named increment-… belong to one output, and have no key. Parts
// that a condition excludes by their keys alone are not opened, nor are those of which
// nothing but keys is wanted.
//
// # Schemas
//
// The rows of all places need not be of one schema, but what a query wants of them
// does: the chosen fields, or what Query.Schema makes of the rows. Else it is a
// *damage.Error that names two places.
//
// # Reading
//
// Files are opened one at a time, and of each only what the query needs is
// read: its header, and the block tables and blocks of the columns in
// question. Columns of remote files are read by pieces, each a range of the file that
// ends with its column, and the next of them while the one before is decoded. Block
// tables and the blocks of small columns, of which there may be thousands, are left
// to the stream that storage reads where reads follow each other closely; so is all
// of a part that is verified.
//
// The rows of an Avro file become parts in memory, some at a time, in a format that
// suits that, neither compressed nor protected; so do rows that are resolved to another
// schema before they become columns. Whatever reads parts reads these.
//
// What is read takes memory of Options.Memory: a block of each column that is read, and
// the rows or vectors made of them. What does not fit is a *budget.Error. Batches are
// smaller where memory is short.
//
// Every file is compared with the manifest that lists it, in size, rows and
// schema; what does not fit is a *damage.Error, as is damage inside of a file.
// Errors in a query are ErrQuery.
//
// Outputs may be made and replaced while they are read. No two outputs have a
// file of the same name, so rows of two are never mixed: a file that is gone
// because its output was replaced is ErrChanging, and so is a directory without
// _SUCCESS on which a run works. One on which nobody works is ErrUnfinished.
package dataset
