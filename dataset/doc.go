// Package dataset reads column files back as one sequence of rows: one file, the parts
// of a committed output, an output with its increments, or any number of these in
// several places.
//
// List finds the files without opening them. Open makes a Dataset of them, whose rows
// come in two forms:
//
//	Scan     one Avro datum after another
//	Batches  the values of columns side by side, some thousand rows at a time
//
// Both give all fields or chosen ones, of all rows or of those that a condition
// selects. They read the condition's columns first. The other columns are read only in
// blocks with rows that match, and only these rows are decoded.
//
// # Trees
//
// Directories named key=value may hold outputs, or more of such directories:
//
//	mail/dt=2026-01-01/hour=9/_SUCCESS, part-…
//	mail/dt=2026-01-01/hour=10/increment-00000001-…/_SUCCESS, part-…
//
// The keys are fields of the rows below, after those in the files: a constant of each
// part. Directories named increment-… belong to one output, and have no key. If the
// keys alone exclude a part, or the query needs only keys, its files are not opened.
//
// # Schemas
//
// The rows of all places may have different schemas, but those that a query needs must
// agree: the chosen fields, or the result of Query.Schema. Otherwise the query fails
// with a *damage.Error that names two places.
//
// # Reading
//
// Files are opened one at a time, and only the parts that the query needs are read: the
// header, and the block tables and blocks of the columns in question. Columns of remote
// files are read in pieces, ranges of the file that end with the column. The next piece
// is read while the one before is decoded. Block tables and blocks of small columns, of
// which there may be thousands, are read through the stream that storage keeps for
// nearby reads. So is all of a part that is verified.
//
// The rows of an Avro file become in-memory parts, some at a time, in a format that
// suits this, neither compressed nor protected. So do rows that are resolved to another
// schema before they become columns. All code that reads parts reads these.
//
// Reading takes memory of Options.Memory: a block of each column that is read, and the
// rows or vectors made of them. A request that does not fit fails with a *budget.Error.
// Batches are smaller if memory is short.
//
// Every file is compared with the manifest that lists it, in size, rows and schema. A
// difference is a *damage.Error, and so is damage inside a file. An error in a query is
// an ErrQuery.
//
// Outputs may be made and replaced while they are read. No two outputs have a file of
// the same name, so their rows are never mixed. If a file is gone because its output
// was replaced, the error is ErrChanging. A directory without _SUCCESS is ErrChanging
// if a run works on it, else ErrUnfinished.
package dataset
