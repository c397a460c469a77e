// Package bench measures a whole conversion against its codec floor: what the
// same input blocks cost to decompress and the same column blocks to compress
// and checksum, in the same process and with nothing else done. The benchmarks
// are in its test files; it exports nothing.
package bench
