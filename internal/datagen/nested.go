package datagen

import (
	"encoding/binary"
	"strconv"
)

func textSchema() string {
	return `{"type":"record","name":"Document","fields":[` +
		`{"name":"id","type":"long"},` +
		`{"name":"title","type":"string"},` +
		`{"name":"text","type":"string"},` +
		`{"name":"note","type":["null","string"]},` +
		`{"name":"scan","type":"bytes"}]}`
}

const (
	smallText, largeText = 1 << 10, 2 << 20
	// poolSize is the size of the text from which all texts are cut. It is larger than the
	// windows of the codecs, so that long texts do not compress too well.
	poolSize = 1 << 20
)

// texts generates rows of long values.
type texts struct {
	source
	id   int64
	pool []byte
}

func newTexts(seed uint64) rows {
	t := &texts{source: newSource(seed, 0x74657874), pool: make([]byte, 0, poolSize+64)}
	for len(t.pool) < poolSize {
		t.pool = append(append(t.pool, words[t.skewed(len(words))]...), ' ')
		// Numbers in text do not compress.
		if r := t.Uint64(); r%8 == 0 {
			t.pool = append(strconv.AppendUint(t.pool, r>>44, 10), ' ')
		}
	}
	return t
}

func (t *texts) Append(dst []byte) []byte {
	t.id++
	dst = binary.AppendVarint(dst, t.id)
	dst = t.text(dst, 20+t.below(60))
	dst = t.text(dst, t.between(smallText, largeText))
	if t.below(2) == 0 {
		dst = append(dst, 0)
	} else {
		dst = t.text(append(dst, 2), t.between(smallText, 64<<10))
	}
	n := t.between(smallText, largeText/8)
	dst = binary.AppendVarint(dst, int64(n))
	for ; n > 0; n -= 8 {
		var b [8]byte
		binary.LittleEndian.PutUint64(b[:], t.Uint64())
		dst = append(dst, b[:min(n, 8)]...)
	}
	return dst
}

// text appends a string of n bytes, made of pieces of the pool.
func (t *texts) text(dst []byte, n int) []byte {
	dst = binary.AppendVarint(dst, int64(n))
	for n > 0 {
		piece := min(n, 32+t.below(480))
		at := t.below(poolSize - piece)
		dst = append(dst, t.pool[at:at+piece]...)
		n -= piece
	}
	return dst
}

func deepSchema() string {
	return `{"type":"record","name":"Order","fields":[` +
		`{"name":"id","type":"long"},` +
		`{"name":"customer","type":{"type":"record","name":"Customer","fields":[` +
		`{"name":"name","type":"string"},` +
		`{"name":"address","type":{"type":"record","name":"Address","fields":[` +
		`{"name":"street","type":["null","string"]},{"name":"town","type":"string"}]}},` +
		`{"name":"tags","type":{"type":"map","values":"string"}}]}},` +
		`{"name":"parcels","type":{"type":"array","items":{"type":"record","name":"Parcel","fields":[` +
		`{"name":"weight","type":"double"},` +
		`{"name":"items","type":{"type":"array","items":{"type":"record","name":"Item","fields":[` +
		`{"name":"sku","type":"string"},{"name":"number","type":"int"},` +
		`{"name":"sizes","type":{"type":"array","items":"int"}},` +
		`{"name":"options","type":{"type":"map","values":{"type":"array","items":"string"}}},` +
		`{"name":"price","type":["null","double"]}]}}},` +
		`{"name":"events","type":{"type":"map","values":{"type":"record","name":"Event","fields":[` +
		`{"name":"at","type":"long"},{"name":"place","type":["null","string","int"]}]}}}]}}}]}`
}

// orders generates deeply nested rows.
type orders struct {
	source
	id int64
}

func newOrders(seed uint64) rows { return &orders{source: newSource(seed, 0x64656570)} }

func (o *orders) Append(dst []byte) []byte {
	o.id += 1 + int64(o.below(5))
	dst = binary.AppendVarint(dst, o.id)
	dst = o.word(dst)
	if o.below(4) == 0 {
		dst = append(dst, 0)
	} else {
		dst = o.word(append(dst, 2))
	}
	dst = o.word(dst)
	dst = o.list(dst, o.below(4), func(dst []byte) []byte { return o.word(o.word(dst)) })
	return o.list(dst, 1+o.skewed(5), o.parcel)
}

func (o *orders) parcel(dst []byte) []byte {
	dst = appendDouble(dst, float64(o.below(20_000))/1000)
	dst = o.list(dst, o.skewed(24), o.item)
	return o.list(dst, o.below(4), func(dst []byte) []byte {
		dst = binary.AppendVarint(o.word(dst), 1_700_000_000_000+o.id*7+int64(o.below(1000)))
		switch branch := o.below(3); branch {
		case 1:
			return o.word(append(dst, 2))
		case 2:
			return binary.AppendVarint(append(dst, 4), int64(o.below(9999)))
		}
		return append(dst, 0)
	})
}

func (o *orders) item(dst []byte) []byte {
	dst = appendKey(dst, o.Uint64())
	dst = binary.AppendVarint(dst, int64(1+o.skewed(12)))
	dst = o.list(dst, o.skewed(6), func(dst []byte) []byte { return binary.AppendVarint(dst, int64(o.below(500))) })
	dst = o.list(dst, o.skewed(3), func(dst []byte) []byte { return o.list(o.word(dst), o.below(4), o.word) })
	if o.below(5) == 0 {
		return append(dst, 0)
	}
	return appendDouble(append(dst, 2), float64(o.below(10_000))/100)
}

// list appends an array or a map of n items.
func (o *orders) list(dst []byte, n int, item func([]byte) []byte) []byte {
	if n > 0 {
		dst = binary.AppendVarint(dst, int64(n))
		for range n {
			dst = item(dst)
		}
	}
	return append(dst, 0)
}

func (o *orders) word(dst []byte) []byte { return appendString(dst, words[o.skewed(len(words))]) }
