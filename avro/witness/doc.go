// Package witness compares rows that rowtocol wrote with the Avro files that
// they came from, as implementations that share no code with the conversion
// see them: github.com/linkedin/goavro decodes the input's container and its
// rows, and decodes the rows that were assembled again from the columns. It is
// slow, and it is never on the way of the data; `rowtocol verify --against`
// is its only caller.
//
// goavro does not read everything that is sound Avro. Where its container
// reader gives up (codecs beyond deflate and snappy, blocks without bytes) the
// caller's own block reader takes over and goavro still decodes the rows. Names
// that it refuses are spelled in another way, on both sides alike. A row that
// it cannot decode goes to github.com/hamba/avro, on both sides, and so do all
// rows that the conversion resolved to another schema: hamba resolves them by
// itself, which goavro does not. Rows that neither can decode are counted and
// named as not compared; they never pass in silence.
//
// hamba's resolution has gaps: it refuses some schemas that the specification
// resolves, and prefers the first branch of a union that takes a value to the
// one of its type. What it is known to read in another way is not compared.
//
// Logical types are compared as the primitive values that they annotate,
// because that is what a lossless conversion must keep, bit by bit: NaN equals
// the same NaN, and 0 differs from -0.
package witness
