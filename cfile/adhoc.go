package cfile

// AdHocIndexOptions are those of the file that has the keys of a table with a composite
// key, each as AppendComposite encodes it: BINARY values in PREFIX encoding and LZ4, in
// blocks of 4 KiB, with a value index only and its bounds.
func AdHocIndexOptions() Options {
	return Options{
		Type: Binary, Encoding: Prefix, Compression: LZ4, BlockSize: 4 << 10,
		ValueIndex: true, KeyBounds: true,
	}
}
