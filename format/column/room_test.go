package column

import (
	"testing"

	"github.com/rowtocol/rowtocol/internal/budget"
)

// The memory of a recycled room is accounted for to the room that reuses it, and is not reused if the
// account has too little.
func TestRoomReuse(t *testing.T) {
	for _, test := range []struct{ size, have, held int64 }{
		{64 << 10, 1 << 20, 64 << 10},
		{64 << 10, 63 << 10, 0},
		{256 << 10, 1 << 20, 0}, // too large to be kept
	} {
		first := budget.New(1 << 20).NewHeap()
		var r Room
		if err := r.Make(first, test.size); err != nil {
			t.Fatal(err)
		}
		r.Bytes = append(r.Bytes, "the block before"...)
		for range 100 { // a pool may drop what it is given
			if r.Recycle(first); r.Bytes != nil || r.Held != 0 || first.Available() != 1<<20 {
				t.Fatalf("%d bytes, %d held, %d available after Recycle", len(r.Bytes), r.Held, first.Available())
			}
			second := budget.New(test.have).NewHeap()
			var next Room
			next.Reuse(second)
			if next.Held > test.held || next.Held != int64(cap(next.Bytes)) || len(next.Bytes) > 0 || second.Available() != test.have-next.Held {
				t.Errorf("%+v: %d bytes of %d, %d held, %d available", test, len(next.Bytes), cap(next.Bytes), next.Held, second.Available())
			}
			if next.Held == test.held {
				break
			}
			if err := r.Make(first, test.size); err != nil {
				t.Fatal(err)
			}
		}
	}
}
