// Package encodingtest encodes values as other writers of Parquet do: in the encodings that the
// program reads, but does not write. It serves tests.
package encodingtest
