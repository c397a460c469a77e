// Package shred turns an Avro schema into columns, rows of Avro data into values of the
// columns, and columns back into rows. It reads no files. A row is the bytes of its
// datum, and its values go to the buffers of package column.
//
// # Columns
//
// ParseSchema reads a schema, leniently; Map assigns its columns, depth first,
// with the names and the order of the Trevni specification:
//
//	record            the columns of its fields, as path#field
//	simple type       one column, path; enum is int, fixed is bytes
//	array of simple   one array column, path[]
//	array of other    path[], lengths only; under it the items' columns
//	map               path>, lengths only; under it path>key and the values'
//	                  columns, path>value
//	union             per branch but null path/name: an array column whose
//	                  lengths are 0 and 1, holding the values of a simple
//	                  branch; any other branch's columns are under it
//
// So the type
//
//	{"type": "record", "name": "Mail", "fields": [
//	  {"name": "id",   "type": "long"},
//	  {"name": "from", "type": ["null", "string"]},
//	  {"name": "to",   "type": {"type": "array", "items": {
//	    "type": "record", "name": "Address", "fields": [
//	      {"name": "host", "type": "string"},
//	      {"name": "tags", "type": {"type": "map", "values": "int"}}]}}}]}
//
// has the columns
//
//	0 id                 long
//	1 from/string        string, optional
//	2 to[]               null, array
//	3 to[]#host          string, parent 2
//	4 to[]#tags>         null, array, parent 2
//	5 to[]#tags>key      string, parent 4
//	6 to[]#tags>value    int, parent 4
//
// A type that contains itself has no such columns. With Options.RecursiveBytes, the
// inner occurrence of the type becomes a column of bytes, whose values are Avro data.
//
// # Rows
//
// Avro and the columns encode int, long, float, double, string and bytes alike, so a
// Shredder copies the bytes and checks them. The tree of steps that Map makes is
// compiled into a list of operations that need no lookup. Every length and count is
// checked against the bytes that remain, and every index, ordinal and boolean against
// the allowed values. A null, an empty array or an empty map adds no values to the
// columns below it. With layout Levels it adds an entry to the leaves below it, which package
// column describes; the levels of each column follow from the schema.
//
// The operations are as follows. A record only has the operations of its fields.
//
//	int, long         a varint, copied recoded if longer than needed
//	fixed width       4 or 8 bytes, copied: float and double
//	sized, string     a length and bytes, copied; strings are checked for UTF-8
//	boolean, enum     one of a few values
//	fixed             bytes, given a length
//	raw               a datum of a recursive type, checked and kept as bytes
//	simple array      an array with its values in the column of its lengths
//	counted           any other array, or a map: lengths alone, then the items'
//	                  operations; a map's keys come first
//	nullable          a union of null and a branch that is not simple
//	union             any other union
//	place             records the position where a key begins or ends
//	pass              some values of columns that are not wanted
//
// Layout Levels has some more operations, which read nothing:
//
//	entry             an entry of a column of type null
//	item              begins an item of a list
//	list              counted, with columns below it: it keeps the repetition level
//	null union        a union of null and at least two other branches
//	row end           checks the memory for the levels of the row
//
// The first six operations can be optional: a union of null and such a type is one
// operation, with its length and value in one column. If at least 65 bytes of input
// remain, shortcuts handle the most common forms of these six, and move whole words.
// Slower code handles every form, and finds damage.
//
// A partial Shredder fills only some columns, or none to find the size of a row. It checks
// other values and passes over them. Adjacent numbers are one operation, and so are
// adjacent values of a fixed size; eight nulls take one step.
//
// An Assembler is the inverse of a Shredder. It is compiled in the same way, copies
// values from the columns (column.Reader), and returns the datum in the plainest form
// that Avro allows. A strip assembles eight or more consecutive fields of a record for up
// to 32 rows at a time, column by column.
//
// # Generations
//
// A Resolution turns rows of one schema into rows of another, by Avro's rules of schema
// resolution. Data that both schemas encode alike is copied in one piece. Other data is
// encoded again. A Resolution is compiled once, and each goroutine applies it with a
// Resolver of its own. Rows of the same schema, as Schema.Same defines it, are copied.
// For rows of another schema, Rules say how their meaning may change.
//
// # Hostile schemas
//
// A small schema can have a huge number of columns. The text of a schema is at most
// 16 MiB and nests at most 1,000 types. The columns are counted before they are made: at
// most 100,000 columns, 1,000 levels and a million places of types are allowed.
package shred
