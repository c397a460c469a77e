package datagen

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
)

// source is a stream of random choices.
type source struct{ rand.PCG }

func newSource(seed, stream uint64) source { return source{*rand.NewPCG(seed, stream)} }

// below returns a number in [0, n).
func (s *source) below(n int) int { return int(s.Uint64() % uint64(n)) }

// skewed returns a number in [0, n). Small numbers are more frequent.
func (s *source) skewed(n int) int { return s.below(1 + s.below(n)) }

// between returns a number in [low, high). All orders of magnitude are equally frequent.
func (s *source) between(low, high float64) int {
	return int(low * math.Exp(float64(s.Uint64()>>11)/(1<<53)*math.Log(high/low)))
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendVarint(dst, int64(len(s))), s...)
}

func appendDouble(dst []byte, v float64) []byte {
	return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
}

const hexDigits = "0123456789abcdef"

// appendKey appends a string of eight hexadecimal digits, which compress little.
func appendKey(dst []byte, v uint64) []byte {
	dst = append(dst, 16)
	for range 8 {
		dst = append(dst, hexDigits[v&15])
		v >>= 4
	}
	return dst
}

// words are the words of texts and labels.
var words = [...]string{
	"amber", "basin", "cargo", "delta", "ember", "fjord", "grain", "harbour", "island", "jetty", "kernel", "lantern",
	"meadow", "nickel", "orchard", "pepper", "quarry", "ribbon", "saddle", "timber", "umbrella", "valley", "willow",
	"yarrow", "zenith", "anchor", "bridge", "copper", "dune", "engine", "furnace", "glacier", "hammer", "inlet",
	"juniper", "kettle", "ladder", "marble", "needle", "oyster", "paddle", "quilt", "rudder", "signal", "tunnel",
	"urchin", "vessel", "winter", "yellow", "zephyr", "the", "of", "and", "to", "in", "is", "for", "on", "that", "by",
	"with", "at", "from", "as",
}
