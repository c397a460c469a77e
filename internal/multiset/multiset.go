// Package multiset compares sequences whose order does not matter.
package multiset

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Sum identifies items in any order: it is the sum of their digests of 128 bits. Sums of
// the same items, each the same number of times, are equal. Other sums are equal only with
// negligible probability. The zero value is the sum of no items.
type Sum struct{ high, low uint64 }

// Add adds an item.
func (s *Sum) Add(item []byte) {
	digest := sha256.Sum256(item)
	s.Join(Sum{binary.BigEndian.Uint64(digest[:]), binary.BigEndian.Uint64(digest[8:])})
}

// Join adds the items of another sum.
func (s *Sum) Join(o Sum) {
	var carry uint64
	s.low, carry = bits.Add64(s.low, o.low, 0)
	s.high, _ = bits.Add64(s.high, o.high, carry)
}

func (s Sum) String() string { return fmt.Sprintf("%016x%016x", s.high, s.low) }
