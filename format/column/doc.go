// Package column is the model that the shredder and the column formats share: columns,
// and the growing blocks of their values. It is a leaf; it knows neither Avro nor any
// file format.
//
// A row group is a list of columns. In an Array column a length precedes each sequence
// of values. A column with a Parent shares the lengths of that array column and stores
// no lengths of its own unless it is an Array too.
//
// Values are held in the encoding that Avro's binary form and Trevni share:
// zig-zag varints for int and long, little-endian float and double, a varint
// length and the bytes for string and bytes. Two layouts exist:
//
//	Interleaved   lengths (and repeats of equal lengths 0 or 1) coded among the
//	              values, booleans packed to bits: a finished Trevni block.
//	Split         lengths in a slice of their own, booleans one byte each,
//	              for formats that store lengths and nullability apart.
package column
