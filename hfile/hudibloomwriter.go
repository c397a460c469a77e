package hfile

import (
	"encoding/base64"
	"encoding/binary"
	"math"
)

const (
	// hudiKeys is how many rows each filter of a dynamic one is for, Hudi's default.
	hudiKeys = 60_000
	// hudiRate is how many absent rows such a filter finds, Hudi's default.
	hudiRate = 1e-9
	// maxHudiFilters is the most filters that a dynamic one is of, which all are in memory, of
	// 330 KB each. Further rows are added to them in turn, and more absent rows are found.
	maxHudiFilters = 16
)

// hudiBloomWriter makes a dynamic Bloom filter of Hudi.
type hudiBloomWriter struct {
	filters []hudiFilter
	count   int // rows of the last one
	turn    int // rows added since all filters are full
	first   []byte
}

// newHudiFilter returns a simple filter for hudiKeys rows.
func newHudiFilter() hudiFilter {
	bits := math.Ceil(hudiKeys * -math.Log(hudiRate) / (math.Ln2 * math.Ln2))
	return hudiFilter{
		hashes: int(math.Ceil(math.Ln2 * bits / hudiKeys)), hash: murmurByHudi, kind: hashMurmur,
		bits: int64(bits), array: make([]byte, (int64(bits)+7)/8),
	}
}

func newHudiBloomWriter() *hudiBloomWriter {
	return &hudiBloomWriter{filters: []hudiFilter{newHudiFilter()}}
}

// add adds a row that is not the last one. Hudi refuses rows without bytes.
func (w *hudiBloomWriter) add(row []byte) {
	if w.first == nil {
		w.first = append([]byte{}, row...)
	}
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
		f = &w.filters[w.turn%maxHudiFilters]
		w.turn++
	}
	f.add(row)
}

// size is the most bytes of the meta block if a row more is added.
func (w *hudiBloomWriter) size() int64 {
	n := len(w.filters)
	if w.count == hudiKeys && n < maxHudiFilters {
		n++
	}
	return int64(base64.StdEncoding.EncodedLen(hudiHeadSize + 3*4 + n*(hudiHeadSize+len(w.filters[0].array))))
}

// block is the meta block.
func (w *hudiBloomWriter) block() []byte {
	b := w.filters[0].appendHead(nil)
	b = binary.BigEndian.AppendUint32(b, hudiKeys)
	b = binary.BigEndian.AppendUint32(b, uint32(w.count))
	b = binary.BigEndian.AppendUint32(b, uint32(len(w.filters)))
	for i := range w.filters {
		b = w.filters[i].append(b)
	}
	return base64.StdEncoding.AppendEncode(nil, b)
}

// info is what the file info has of the filter, of a file with a last row.
func (w *hudiBloomWriter) info(last []byte) Info {
	return Info{{infoHudiBloomType, []byte(hudiDynamic)}, {infoMinRecord, w.first}, {infoMaxRecord, last}}
}

func (f *hudiFilter) add(row []byte) {
	h := uint32(0)
	for range f.hashes {
		h = f.hash(row, h)
		at := bloomBit(h, f.bits)
		f.array[at/8] |= 1 << (at % 8)
	}
}

// append appends the filter.
func (f *hudiFilter) append(dst []byte) []byte { return append(f.appendHead(dst), f.array...) }

// appendHead appends what is in front of the bits.
func (f *hudiFilter) appendHead(dst []byte) []byte {
	version := int32(hudiVersion)
	dst = binary.BigEndian.AppendUint32(dst, uint32(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(f.hashes))
	dst = append(dst, f.kind)
	return binary.BigEndian.AppendUint32(dst, uint32(f.bits))
}
