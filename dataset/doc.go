// Package dataset reads column files back: one file, the parts of a committed
// output, or the outputs of several runs, as one sequence of rows.
//
// List finds the files and opens none. Open makes a Dataset of them, whose
// rows come in two forms:
//
//	Scan     one Avro datum after another, with all fields or the chosen ones
//
// Files are opened one at a time, and of each only what the query needs is
// read: its header, and the block tables and blocks of the columns in
// question. Every file is compared with the manifest that lists it, in size,
// rows and schema; what does not fit is a *damage.Error, as is damage inside
// of a file. Errors in a query are ErrQuery.
package dataset
