// Package witness compares rows that rowtocol wrote with the Avro files that
// they came from, as an implementation that shares no code with the conversion
// sees them: github.com/linkedin/goavro decodes the input's container and its
// rows, and decodes the rows that were assembled again from the columns. It is
// slow, and it is never on the way of the data; `rowtocol verify --against`
// is its only caller.
//
// goavro does not read everything that is sound Avro. Where its container
// reader gives up (codecs beyond deflate and snappy, blocks without bytes) the
// caller's own block reader takes over and goavro still decodes the rows. Names
// that it refuses are spelled in another way, on both sides alike. Rows
// that goavro cannot decode are counted and named as not compared; they never
// pass in silence.
//
// Logical types are compared as the primitive values that they annotate,
// because that is what a lossless conversion must keep, bit by bit: NaN equals
// the same NaN, and 0 differs from -0.
package witness
