// Package column is the model that the shredder and the column formats share: columns,
// and the growing blocks of their values. It knows neither Avro nor any file format.
//
// A row group is a list of columns. In an Array column a length precedes each sequence
// of values. A column with a Parent has values for the items of that array column. It
// stores no lengths unless it is an Array column, too.
//
// Values are in the encoding that Avro's binary form and Trevni share. An int or long is a
// zig-zag varint. A float or double is little-endian. A string or bytes value is its length
// as a varint and its bytes. There are two layouts:
//
//	Interleaved   lengths (and repeats of equal lengths 0 or 1) coded among the
//	              values, booleans packed to bits: a finished Trevni block.
//	Split         lengths in a slice of their own, booleans one byte each,
//	              for formats that store lengths and nullability apart.
package column
