// Package shred turns an Avro schema into columns, the rows of Avro data into
// values of those columns, and columns back into rows. It reads no files: a
// row comes as the bytes of its datum and goes to the buffers of package
// column.
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
// A type that contains itself has no such columns. With Options.RecursiveBytes
// the place where it does so becomes a column of bytes, each value of which is
// the Avro encoding of what stands there.
//
// # Rows
//
// Avro and the columns code int, long, float, double, string and bytes alike,
// so a Shredder is a checked copy: Map's tree of steps is compiled into a list
// of operations that need no lookup, and every length, count, index, ordinal
// and boolean is checked against the bytes that remain. What is below a null,
// an empty array or an empty map leaves nothing in its columns.
//
// The operations are these; a record leaves those of its fields in their place.
//
//	int, long         a varint, copied unless it has needless bytes
//	fixed width       4 or 8 bytes, copied: float and double
//	sized, string     a length and bytes, copied; strings are checked for UTF-8
//	boolean, enum     a value of few
//	fixed             bytes that get their length
//	raw               a datum of a recursive type, checked and kept as bytes
//	simple array      an array with its values in the column of its lengths
//	counted           any other array, or a map: lengths alone, then the items'
//	                  operations, of which a map's first is that of its keys
//	nullable          a union of null and a branch that is not simple
//	union             any other union
//	place             of a key: where it begins or ends is noted
//
// The first six can be optional: a union of null and such a type, with the
// length and the value in one column, is one operation. Where at least 65 bytes
// of input remain, the commonest forms of these are walked by short cuts that
// move whole words; all other forms, and damage, are left to careful code that
// does the same for every form.
//
// An Assembler is the inverse: compiled in the same way, it copies from the
// columns (column.Reader) and gives the datum's bytes back, in the plainest of
// the forms that Avro allows.
//
// # Generations
//
// A Resolution turns rows that were written with one schema into rows of
// another, by Avro's rules of schema resolution. What both code alike is copied
// in one piece, and only what differs is coded anew. It is compiled once; each
// goroutine has a Resolver that applies it. Rows of the same schema, which
// Schema.Same defines, are copied; Rules say what may become of the meaning of
// others.
//
// # Hostile schemas
//
// A schema's text can be small and its expansion huge. The text is at most
// 16 MiB and nests at most 1,000 types; what it expands to is measured before
// it is built, and is at most 100,000 columns, 1,000 levels and a million
// places of types.
package shred
