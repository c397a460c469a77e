// Package column is the model that the shredder and the column formats share: columns,
// and the growing blocks of their values. It knows neither Avro nor any file format.
//
// A row group is a list of columns. In an Array column a length precedes each sequence
// of values. A column with a Parent has values for the items of that array column. It
// stores no lengths unless it is an Array column, too.
//
// Values are in the encoding that Avro's binary form and Trevni share. An int or long is a
// zig-zag varint. A float or double is little-endian. A string or bytes value is its length
// as a varint and its bytes. There are three layouts:
//
//	Interleaved   lengths (and repeats of equal lengths 0 or 1) coded among the
//	              values, booleans packed to bits: a finished Trevni block.
//	Split         lengths in a slice of their own, booleans one byte each,
//	              for formats that store lengths and nullability apart.
//	Levels        definition and repetition levels in place of lengths, values
//	              as with Split, for Parquet.
//
// Buffers fill blocks of any layout. A Reader reads blocks with layout Interleaved, and a Cursor
// reads such blocks in memory, from any row on.
//
// # Levels
//
// With layout Levels only leaves have blocks: columns without columns below them. Other
// columns are called places. A leaf has one entry for each value, and one for each null,
// empty list or branch that is not chosen, at the leaf or at a place above it. An entry has
// two levels:
//
//	definition   how many of the optional and repeated places above are present;
//	             an entry with a value has the level Column.Def
//	repetition   0 for the first entry of a row, otherwise the number of the list
//	             that the entry continues, counted from the outermost: Column.Rep
//	             of the list's column
//
// The places count as follows. A record counts nothing. The items of an array or a map count
// one for both levels. The only branch of a union besides null counts one definition level.
// Any other union is a record with an optional member for each branch but null, and that
// record is optional if null is a branch. A null counts one definition level, and its entries
// have the level below: no value is ever present. An array of records without fields, and a
// branch that is such a record, are leaves whose entries have no values. A leaf for which both
// levels are 0 has a value in each row, and no entries.
//
// Block.Lengths has the entries of the block as words. A word is a run of equal entries:
//
//	bit 31           21 20        11 10         0
//	   +---------------+------------+------------+
//	   |   count - 1   | repetition | definition |
//	   +---------------+------------+------------+
//
// Runs are as long as possible. A run of more than 2,048 entries takes several words, and all
// but the last have 2,048. So the words depend only on the entries of the block.
//
// A null above many leaves takes the time of one entry: it is pending at its place until the
// place gets a value, or a block of a leaf below it is finished. The levels of a place are also
// those of the required leaves directly below it. So these entries are pending, too, until
// there are some words of them.
package column
