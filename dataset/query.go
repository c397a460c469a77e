package dataset

import (
	"github.com/rowtocol/rowtocol/avro/shred"
)

// Query selects rows and fields.
type Query struct {
	// Columns are the paths of the fields to read, as for shred.Mapping.Project. If it is
	// nil, all fields are read.
	Columns []string
	// Where is a condition on the rows, in the language of package where. If it is empty,
	// all rows match.
	Where string
	// Only, if it is not nil, limits the query to some rows of some parts. Its keys are indexes
	// in Dataset.Parts. Its values are row numbers, ascending without repeats. Other parts are
	// not opened, and other blocks are not read. Avro files do not support Only.
	Only map[int][]int64
	// Offset is the number of matching rows that are skipped before the first returned row.
	Offset int64
	// Limit is the most rows that are returned: a query that leaves it 0 returns none. If it is
	// negative, there is no limit.
	Limit int64
	// Schema is the reader's schema, to which rows of the chosen fields are resolved. If
	// Columns is nil, the fields that Schema uses are read. If Schema is nil, rows keep
	// their own schema. With a Schema, Batches reads rows and makes columns of them.
	Schema *shred.Schema
	// BatchRows is the most rows in a batch; 0 is the default. Scan ignores it.
	BatchRows int
	// Copies is the number of copies of each batch that the caller makes. Memory for them
	// is reserved. Scan ignores it.
	Copies int
	// Workers is the number of goroutines that read rows. For a part with many columns, as many
	// others help them. The rows, their order and the sizes of batches do not depend on it. With
	// 0 or 1, the caller's goroutine reads.
	Workers int
}

// Stats is what a query has read so far.
type Stats struct {
	Rows       int64 // rows returned
	Skipped    int64 // rows skipped for the offset
	TotalRows  int64 // rows of the dataset
	BytesRead  int64 // bytes read from files: headers, block tables, and blocks, even those read ahead and not used
	FileBytes  int64 // size of all files of the dataset
	BlocksRead int64 // blocks read from files; a block that is read again from its file counts again
	// Blocks is the number of blocks of the query's columns in the files that it
	// opened.
	Blocks int64
	// Passed is about the number of rows of the dataset before the current position, whether
	// they were read or not.
	Passed int64
	// Inexact counts values that changed when resolved to Query.Schema.
	Inexact shred.Inexact
}

// Plus returns the sum of the figures of two queries of the same dataset.
func (s Stats) Plus(t Stats) Stats {
	t.Rows += s.Rows
	t.Skipped += s.Skipped
	t.BytesRead += s.BytesRead
	t.BlocksRead += s.BlocksRead
	t.Blocks += s.Blocks
	t.Passed += s.Passed
	t.Inexact = s.Inexact.Plus(t.Inexact)
	return t
}

// dropped returns the figures of rows that are not returned: only those of the reading.
func (s Stats) dropped() Stats {
	return Stats{BytesRead: s.BytesRead, BlocksRead: s.BlocksRead, Blocks: s.Blocks}
}
