package column

// Account accounts for what is in memory and not small: blocks, and rows made of them.
type Account interface {
	// Reserve is called before so many bytes are allocated. Its error is that of
	// whoever wanted them.
	Reserve(n int64) error
	// Release is called when nothing refers to so many bytes any more.
	Release(n int64)
}
