// Package witness compares the rows that rowtocol wrote with the Avro files they came
// from. It uses implementations that share no code with the conversion:
// github.com/linkedin/goavro decodes the input's container and rows, and the rows that
// were assembled from the columns. The package is slow. Its only caller is `rowtocol
// verify --against`.
//
//	inputs ──► next block ──► the block's rows of the columns ──► compare ──► add to Result
//	           └────── one worker at a time, in order ──────┘    all workers   in order
//
// The caller's block reader says where each block begins. goavro's container reader then gets
// the bytes of the block, and no byte of the file may be in no block.
//
// goavro does not read all valid Avro. Its container reader rejects codecs other than
// deflate and snappy, and blocks without bytes. If it fails, the caller's block reader
// decompresses the block, and goavro still decodes the rows. Names that goavro rejects are
// spelled differently, in the same way for input and columns. If goavro cannot decode a
// row, github.com/hamba/avro decodes it on both sides. hamba also decodes all rows that
// the conversion resolved to another schema, because goavro cannot resolve rows. Rows
// that neither library can decode are counted and reported as not compared.
//
// hamba's resolution differs from the specification: hamba rejects some schemas that the
// specification resolves, and it prefers the first branch of a union that accepts a value
// to the branch of the value's type. Schemas that hamba is known to read differently are
// not compared.
//
// Logical types are compared as the primitive values that they annotate, because a
// lossless conversion must keep the primitive values bit by bit. NaN equals the same NaN,
// and 0 differs from -0.
package witness
