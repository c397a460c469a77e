//go:build !race

// The race detector allocates, too.

package encoding_test

import (
	"io"
	"math/rand/v2"
	"testing"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestBlocksDoNotAllocate encodes and decodes blocks in memory that is large
// enough.
func TestBlocksDoNotAllocate(t *testing.T) {
	for _, c := range codecs() {
		for kind, v := range c.samples(rand.New(rand.NewPCG(9, 10)), 2000) {
			var body []byte
			var got encoding.Values
			d := c.decode()
			run := func() {
				body = c.append(body[:0], 0, v)
				testenv.Must(t, d.Reset(body))
				testenv.Must(t, d.Skip(10))
				for {
					got.Reset()
					if _, err := d.Read(&got, 150); err == io.EOF {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
			}
			if n := testing.AllocsPerRun(10, run); n > 0 {
				t.Errorf("%s, %s: %v allocations per block", c.name, kind, n)
			}
		}
	}
}

func TestCodesDoNotAllocate(t *testing.T) {
	d := encoding.NewDict(dictionaryOf(t, "a", "bc", "def"))
	codes := make([]uint32, 3000)
	for i := range codes {
		codes[i] = uint32(i % 3)
	}
	fixed := words(codes...)
	var s encoding.Shuffler
	var body []byte
	var got encoding.Values
	run := func() {
		var err error
		if body, err = encoding.AppendDictCodes(body[:0], &s, 0, fixed); err != nil {
			t.Fatal(err)
		}
		testenv.Must(t, d.Reset(body))
		for err == nil {
			got.Reset()
			_, err = d.Read(&got, 1000)
		}
		if err != io.EOF {
			t.Fatal(err)
		}
	}
	if n := testing.AllocsPerRun(10, run); n > 0 {
		t.Errorf("%v allocations per block", n)
	}
}
