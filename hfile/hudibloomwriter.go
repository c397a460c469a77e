package hfile

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
)

const (
	// hudiKeys is the number of rows in each filter of a dynamic filter, Hudi's default.
	hudiKeys = 60_000
	// hudiRate is the false positive rate of such a filter, Hudi's default.
	hudiRate = 1e-9
	// maxHudiFilters is the most filters of a dynamic filter. All are in memory, and each has
	// 330 KB. Further rows are added to the filters in turn, which raises the false positive rate.
	maxHudiFilters = 16
)

// hudiBloomWriter builds a dynamic Bloom filter of Hudi.
type hudiBloomWriter struct {
	filters  []hudiFilter
	count    int // rows in the last filter
	overflow int // rows added after all filters were full
}

// newHudiFilter returns a simple filter for hudiKeys rows.
func newHudiFilter() hudiFilter {
	bits := hudiBits()
	return hudiFilter{
		hashes: int(math.Ceil(math.Ln2 * float64(bits) / hudiKeys)), hash: murmurByHudi, kind: hashMurmur,
		bits: bits, array: make([]byte, (bits+7)/8),
	}
}

func newHudiBloomWriter() *hudiBloomWriter {
	return &hudiBloomWriter{filters: []hudiFilter{newHudiFilter()}}
}

// add adds a row that differs from the row before. It skips an empty row, which Hudi refuses.
func (w *hudiBloomWriter) add(row []byte) {
	if len(row) == 0 {
		return
	}
	f := &w.filters[len(w.filters)-1]
	switch {
	case w.count < hudiKeys:
		w.count++
	case len(w.filters) < maxHudiFilters:
		w.filters = append(w.filters, newHudiFilter())
		f, w.count = &w.filters[len(w.filters)-1], 1
	default:
		f = &w.filters[w.overflow%maxHudiFilters]
		w.overflow++
	}
	f.add(row)
}

// size returns the most bytes of the meta block with one more row.
func (w *hudiBloomWriter) size() int64 {
	n := len(w.filters)
	if w.count == hudiKeys && n < maxHudiFilters {
		n++
	}
	return hudiBloomSize(n)
}

// hudiBloomSize returns the size of the meta block with the given number of filters.
func hudiBloomSize(filters int) int64 {
	array := int(hudiBits()+7) / 8
	return int64(base64.StdEncoding.EncodedLen(hudiHeadSize + 3*4 + filters*(hudiHeadSize+array)))
}

// hudiBits returns the number of bits of a filter for hudiKeys rows.
func hudiBits() int64 {
	return int64(math.Ceil(hudiKeys * -math.Log(hudiRate) / (math.Ln2 * math.Ln2)))
}

// appendBlock appends the payload of the meta block. It drops each filter that it has appended,
// because filters and text together would take twice the memory.
func (w *hudiBloomWriter) appendBlock(dst []byte) []byte {
	text := bytes.NewBuffer(slices.Grow(dst, int(w.size())))
	encoder := base64.NewEncoder(base64.StdEncoding, text)
	b := w.filters[0].appendHead(nil)
	b = binary.BigEndian.AppendUint32(b, hudiKeys)
	b = binary.BigEndian.AppendUint32(b, uint32(w.count))
	b = binary.BigEndian.AppendUint32(b, uint32(len(w.filters)))
	for i := range w.filters {
		b = w.filters[i].appendHead(b)
		_, _ = encoder.Write(b) // to memory
		_, _ = encoder.Write(w.filters[i].array)
		b, w.filters[i].array = b[:0], nil
	}
	_ = encoder.Close()
	return text.Bytes()
}

func (f *hudiFilter) add(row []byte) {
	h := uint32(0)
	for range f.hashes {
		h = f.hash(row, h)
		at := bloomBit(h, f.bits)
		f.array[at/8] |= 1 << (at % 8)
	}
}

// appendHead appends the fields before the bits.
func (f *hudiFilter) appendHead(dst []byte) []byte {
	version := int32(hudiVersion)
	dst = binary.BigEndian.AppendUint32(dst, uint32(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(f.hashes))
	dst = append(dst, f.kind)
	return binary.BigEndian.AppendUint32(dst, uint32(f.bits))
}
