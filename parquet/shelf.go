package parquet

// shelfSize is how many items a shelf has. While cursors move from one page to the next, they
// need both.
const shelfSize = 2

// shelf has the items of a column that were loaded last, pages or dictionaries, so that cursors
// share them. The column's mutex guards a shelf and its items.
type shelf[T any] struct{ last [shelfSize]*shelved[T] }

// shelved is an item that cursors share.
type shelved[T any] struct {
	chunk   *partChunk
	number  int // of a data page in the chunk
	item    T
	held    int64 // bytes of the item that are accounted for
	holders int   // readers that may use the item
	off     bool  // the item is no longer on the shelf
}

// take returns an item of a chunk, or nil if it is not on the shelf. The caller holds the item until
// it leaves it.
func (s *shelf[T]) take(c *partChunk, number int) *shelved[T] {
	for _, i := range s.last {
		if i != nil && i.chunk == c && i.number == number {
			i.holders++
			return i
		}
	}
	return nil
}

// put puts an item, which the caller holds, in place of the oldest one. It returns how many bytes
// must be released for that one: none if a reader holds it.
func (s *shelf[T]) put(i *shelved[T]) (free int64) {
	i.holders = 1
	if oldest := s.last[shelfSize-1]; oldest != nil {
		oldest.off = true
		free = oldest.free()
	}
	copy(s.last[1:], s.last[:])
	s.last[0] = i
	return free
}

// leave ends the use of an item, unless it is nil. It returns how many bytes must be released.
func (i *shelved[T]) leave() (free int64) {
	if i == nil {
		return 0
	}
	i.holders--
	return i.free()
}

// free returns how many bytes must be released, now that the item may have lost its last use.
func (i *shelved[T]) free() int64 {
	if i.off && i.holders == 0 {
		return i.held
	}
	return 0
}
