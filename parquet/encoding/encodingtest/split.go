package encodingtest

// AppendSplit appends values of size bytes each, which are src, as BYTE_STREAM_SPLIT.
func AppendSplit(dst, src []byte, size int) []byte {
	for stream := range size {
		for at := stream; at < len(src); at += size {
			dst = append(dst, src[at])
		}
	}
	return dst
}
