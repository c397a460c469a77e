package where

import (
	"bytes"
	"hash/maphash"
)

const (
	memoTexts = 1 << 10 // number of texts in a memo
	memoSize  = 64      // most bytes of such a text
)

// memo decides a slow test once for texts that occur again and again. If few do, it gives up. It
// belongs to one goroutine.
type memo struct {
	holds         func([]byte) bool
	seed          maphash.Seed
	slots         []outcome // a text is in the slot of its hash; nil before the first
	tests, misses int
}

// outcome is the outcome of the test of a text.
type outcome struct {
	text         []byte
	known, holds bool
}

func newMemo(holds func([]byte) bool) *memo { return &memo{holds: holds, seed: maphash.MakeSeed()} }

func (m *memo) test(text []byte) bool {
	if len(text) > memoSize || m.misses > 4*memoTexts && m.misses > m.tests*7/8 {
		return m.holds(text)
	}
	if m.slots == nil {
		m.slots = make([]outcome, memoTexts)
	}
	m.tests++
	o := &m.slots[maphash.Bytes(m.seed, text)%memoTexts]
	if !o.known || !bytes.Equal(o.text, text) {
		m.misses++
		*o = outcome{text: append(o.text[:0], text...), known: true, holds: m.holds(text)}
	}
	return o.holds
}
