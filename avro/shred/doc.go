// Package shred turns an Avro schema into columns, the rows of Avro data into values of
// those columns, and columns back into rows. It reads no files: a row comes as the
// bytes of its datum and goes to the buffers of package column.
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
// A type that contains itself has no such columns. With Options.RecursiveBytes the
// inner occurrence becomes a column of bytes; each of its values is an Avro encoding.
//
// # Rows
//
// Avro and the columns code int, long, float, double, string and bytes alike, so a
// Shredder is a checked copy. Map's tree of steps is compiled into a list of operations
// that need no lookup. Every length, count, index, ordinal and boolean is checked
// against the bytes that remain. A null, an empty array or an empty map leaves nothing
// in the columns below it.
//
// The operations are these; a record has none besides those of its fields.
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
//	place             the position where a key begins or ends, noted
//
// The first six can be optional: a union of null and such a type is one operation, with
// its length and value in one column. If at least 65 bytes of input remain, short cuts
// walk the most common forms of these and move whole words. All other forms, and
// damage, are left to careful code that handles every form alike.
//
// An Assembler is the inverse. It is compiled in the same way, copies from the columns
// (column.Reader), and returns the datum's bytes in the plainest form that Avro allows.
//
// # Generations
//
// A Resolution turns rows of one schema into rows of another, by Avro's rules of schema
// resolution. Data that both code alike is copied in one piece, and only the rest is
// coded anew. It is compiled once; each goroutine has a Resolver that applies it. Rows
// of the same schema, as Schema.Same defines it, are copied; for others, Rules say how
// their meaning may change.
//
// # Hostile schemas
//
// A schema's text can be small and its expansion huge. The text is at most 16 MiB and
// nests at most 1,000 types. Its expansion is measured before it is built, and is at
// most 100,000 columns, 1,000 levels and a million places of types.
package shred
