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
// Both return all fields or chosen fields, of all rows or of the rows that a condition
// selects. They read the condition's columns first. In the other columns they read only
// blocks with rows that match, and decode only these rows.
//
// # Trees
//
// Directories named key=value may hold outputs, or more of such directories:
//
//	mail/dt=2026-01-01/hour=9/_SUCCESS, part-…
//	mail/dt=2026-01-01/hour=10/increment-00000001-…/_SUCCESS, part-…
//
// Each key is a field of the rows in its directory. The keys come after the fields in
// the files, and are constant in a part. Directories named increment-… belong to one
// output, and have no key. If a condition excludes a part by its keys, or the query
// needs only keys, the files of the part are not opened.
//
// # Schemas
//
// Rows of different places may have different schemas. The fields that a query chooses
// must have one schema in all rows that it needs, or resolve to Query.Schema. Otherwise
// the query fails with a *damage.Error that names two places.
//
// # Reading
//
// Files are opened one at a time, and only the parts that the query needs are read: the
// header, and the block tables and blocks of the columns in question. Columns of remote
// files are read in pieces: ranges of the file that do not pass the end of the column.
// The next piece is read while the current one is decoded, and workers that read a part share
// its pieces. A small column is one piece. Small columns, possibly thousands, are read through the
// stream that storage keeps for nearby reads. A part that is verified is read through that stream
// as well.
//
// # Workers
//
// A query is read in three steps:
//
//	Plan      a query that was checked: the columns and the condition of each schema
//	ranges    consecutive rows that one worker reads: some MiB of stored columns of one
//	          part or of several small ones, or some blocks of an Avro file
//	Results   what workers make of ranges, merged in row order
//
// A worker opens parts, finds the rows of a range that match, and makes results of them:
// RowResults of rows, BatchResults of batches. Scan and Count use results too, if Query.Workers
// is more than 1. Ranges depend on sizes of files and on the query alone, so results do not
// depend on the number of workers. A range that is read ahead of others waits, within bounds
// of memory. If memory is too short for several workers, one worker reads the rest.
//
// Ranges of a part with many columns are much smaller than its blocks. If the query has a condition,
// the rows that match are found before they are divided into ranges: a range with as many matches is
// larger, and its reader shares fewer blocks with others. Without a condition, they are turns: the workers
// share the part and its cursors, and use them one after another. A worker takes the values of its
// rows out of the blocks, passes the part on, and makes results of the values. Goroutines of the part,
// as many as workers, help to take the values, each out of some of the columns.
//
// Rows of Avro files, and of parts that store rows whole, are shredded to the columns of the
// condition, or to those that batches ask for. Otherwise rows that match are copied, or
// reduced to the chosen fields.
//
// Reading uses memory of the pool Options.Memory: for a block of each column that is
// read, and for the rows or vectors made of the blocks, for each worker. A request that does
// not fit fails with a *budget.Error. Batches are smaller if memory is short.
//
// The size, the number of rows and the schema of every file are compared with the
// manifest that lists it. For a difference, and for damage inside a file, the error is a
// *damage.Error. For a wrong query, the error is ErrQuery.
//
// Outputs may be made and replaced while they are read. No two outputs have a file of
// the same name, so their rows are never mixed. If a file is gone because its output
// was replaced, the error is ErrChanging. For a directory without _SUCCESS, the error is
// ErrChanging if a run works on it, else ErrUnfinished.
package dataset
