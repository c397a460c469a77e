package format

// FreeList keeps values that are used again, so that they need no new memory. It belongs to
// one goroutine at a time.
type FreeList[T any] struct{ free []*T }

// Take returns a value as it was put into the list, or else a new one.
func (l *FreeList[T]) Take() *T {
	n := len(l.free)
	if n == 0 {
		return new(T)
	}
	v := l.free[n-1]
	l.free = l.free[:n-1]
	return v
}

// Put adds a value that is no longer used.
func (l *FreeList[T]) Put(v *T) { l.free = append(l.free, v) }
