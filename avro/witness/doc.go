// Package witness compares the rows that rowtocol wrote with the Avro files they came
// from. It uses implementations that share no code with the conversion:
// github.com/linkedin/goavro decodes the input's container and rows, and the rows
// assembled again from the columns. It is slow, and conversions never use it; its only
// caller is `rowtocol verify --against`.
//
// goavro does not read all valid Avro. If its container reader fails (codecs other than
// deflate and snappy, blocks without bytes), the caller's block reader takes over and
// goavro still decodes the rows. Names that it rejects are spelled differently, in the
// same way on both sides. Both sides of a row that it cannot decode go to
// github.com/hamba/avro, as do all rows that the conversion resolved to another schema:
// hamba resolves them by itself, which goavro does not. Rows that neither can decode
// are counted and reported as not compared.
//
// hamba's resolution has gaps: it rejects some schemas that the specification resolves,
// and prefers the first branch of a union that takes a value to the one of its type.
// Schemas that it is known to read differently are not compared.
//
// Logical types are compared as the primitive values that they annotate, because a
// lossless conversion must keep those bit by bit: NaN equals the same NaN, and 0
// differs from -0.
package witness
