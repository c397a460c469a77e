package cfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/format/protobuf"
)

// small returns a file of a few values with both indexes.
func small() *rawFile { return int64File([]int64{-3, 5, 5, 9, 1 << 40}, 2) }

// withFooter returns a file with the given message as footer. Only header and footer can be
// read.
func withFooter(message []byte) []byte {
	b := appendHeader(nil, false)
	b = append(b, make([]byte, 100)...) // for blocks
	b = append(b, message...)
	b = append(b, magic2...)
	return binary.LittleEndian.AppendUint32(b, uint32(len(message)))
}

// footerFields returns the message of a footer to which pointers can be added.
func footerFields(typ, encoding, values uint64) []byte {
	b := protobuf.AppendVarint(nil, footerType, typ)
	b = protobuf.AppendVarint(b, footerEncoding, encoding)
	return protobuf.AppendVarint(b, footerValues, values)
}

func indexAt(dst []byte, field int, offset, size uint64) []byte {
	p := protobuf.AppendVarint(protobuf.AppendVarint(nil, pointerOffset, offset), pointerSize, size)
	return protobuf.AppendBytes(dst, protowire.Number(field), protobuf.AppendBytes(nil, treeRoot, p))
}

// validFooter returns the message of a footer that can be read.
func validFooter() []byte { return indexAt(footerFields(5, 1, 0), footerPositional, 12, 20) }

func TestOptionalFooterFields(t *testing.T) {
	f := openBytes(t, withFooter(protobuf.AppendVarint(validFooter(), 99, 7)))
	if f.footer.Compression != NoCompression || f.footer.Nullable || !f.unverified() {
		t.Errorf("%+v", f.footer)
	}
	if f := openBytes(t, withFooter(indexAt(footerFields(5, 0, 0), footerPositional, 12, 20))); f.footer.Encoding != Auto {
		t.Errorf("%+v", f.footer)
	}
}

func TestMetadata(t *testing.T) {
	raw := small()
	raw.Metadata = []Pair{{"min_key", []byte{0, 1}}, {"empty", []byte{}}, {"long", bytes.Repeat([]byte("x"), 5000)}}
	f := openBytes(t, raw.bytes(t))
	for _, p := range raw.Metadata {
		if got, ok := f.footer.Get(p.Key); !ok || got == nil || !bytes.Equal(got, p.Value) {
			t.Errorf("%s: %x, %v", p.Key, got, ok)
		}
	}
	if _, ok := f.footer.Get("max_key"); ok {
		t.Error("there is no max_key")
	}
	if err := walk(f); err != nil {
		t.Error(err)
	}
}

// A header may have metadata, and fields that are no longer used.
func TestHeaderMetadata(t *testing.T) {
	message := protobuf.AppendVarint(protobuf.AppendVarint(nil, 1, 1), 2, 0)
	pair := protobuf.AppendBytes(protobuf.AppendBytes(nil, pairKey, "key"), pairValue, "value")
	message = protobuf.AppendBytes(message, headerMetadata, pair)
	message = protobuf.AppendBytes(message, 100, make([]byte, 200))
	head := binary.LittleEndian.AppendUint32([]byte(magic2), uint32(len(message)))
	head = append(head, message...)
	b := append(head, withFooter(indexAt(footerFields(5, 1, 0), footerPositional, uint64(len(head)), 20))[12:]...)
	f := openBytes(t, b)
	if len(f.Header()) != 1 || f.Header()[0].Key != "key" || string(f.Header()[0].Value) != "value" || f.HeaderSize() != int64(len(head)) {
		t.Errorf("%v, %d bytes", f.Header(), f.HeaderSize())
	}
	b[frameSize+7] ^= 0x80 // in the pair
	if _, err := Open(bytes.NewReader(b), int64(len(b)), ""); !isDamage(err) {
		t.Error(err)
	}
}

func TestOpenRefuses(t *testing.T) {
	file := small().bytes(t)
	change := func(at int, with byte) []byte {
		b := bytes.Clone(file)
		b[(at+len(b))%len(b)] ^= with
		return b
	}
	length := func(n uint32, at int) []byte {
		b := withFooter(validFooter())
		binary.LittleEndian.PutUint32(b[(at+len(b))%len(b):], n)
		return b
	}
	features := func(bits uint32) []byte {
		raw := small()
		raw.Incompatible |= bits
		return raw.bytes(t)
	}
	cleared := func() []byte {
		raw := small()
		_ = raw.bytes(t)
		raw.Incompatible = 0
		return raw.end(raw.out)
	}
	without := func(field int) []byte {
		var b []byte
		for m := protobuf.New("", validFooter(), 0); m.Next(); {
			if m.Number != protowire.Number(field) {
				b = protowire.AppendTag(b, m.Number, m.Wire)
				b = append(b, m.Value...)
			}
		}
		return withFooter(b)
	}
	otherMagic := withFooter(validFooter())
	copy(otherMagic, magic1)
	for name, c := range map[string]struct {
		b      []byte
		kind   damage.Kind
		reason string
	}{
		"nothing":                 {nil, damage.Truncated, "0 bytes"},
		"a header alone":          {file[:16], damage.Truncated, "16 bytes"},
		"a cut file":              {file[:len(file)-5], damage.Magic, "expected"},
		"another file":            {bytes.Repeat([]byte("PAR1"), 50), damage.Magic, "expected"},
		"magic of the header":     {change(0, 1), damage.Magic, "expected"},
		"magics differ":           {otherMagic, damage.Magic, "version 1 at the beginning"},
		"footer too long":         {length(maxMessage+1, -4), damage.Size, "at most 65536"},
		"footer before the file":  {length(400, -4), damage.Truncated, "footer"},
		"header too long":         {length(maxMessage+1, 8), damage.Size, "at most 65536"},
		"header into the footer":  {length(110, 8), damage.Size, "header ends"},
		"checksum of the header":  {change(13, 1), damage.Checksum, "header"},
		"length of the header":    {change(8, 1), damage.Checksum, "header"},
		"checksum of the footer":  {change(-12-len(small().message(t))-1, 1), damage.Checksum, "footer"},
		"no checksums":            {cleared(), damage.Header, "header has one"},
		"feature 3":               {features(1 << 3), damage.Unsupported, "0x8"},
		"features 3 and 1":        {features(1<<3 | 2), damage.Unsupported, "0x8"},
		"arrays by feature":       {features(FeatureArrays), damage.Unsupported, "array data blocks"},
		"arrays by field":         {withFooter(protobuf.AppendVarint(validFooter(), footerArray, 1)), damage.Unsupported, "array data blocks"},
		"no type":                 {without(footerType), damage.Header, "field 1 is missing"},
		"no encoding":             {without(footerEncoding), damage.Header, "field 2 is missing"},
		"no number of values":     {without(footerValues), damage.Header, "field 3 is missing"},
		"no index":                {without(footerPositional), damage.Header, "no index"},
		"type 18":                 {withFooter(footerFields(18, 1, 0)), damage.Unsupported, "type 18"},
		"type 999":                {withFooter(footerFields(999, 1, 0)), damage.Unsupported, "type 999"},
		"type 256":                {withFooter(footerFields(256, 1, 0)), damage.Unsupported, "type 256"},
		"encoding 7":              {withFooter(footerFields(5, 7, 0)), damage.Unsupported, "encoding 7"},
		"INT32 with DICT":         {withFooter(indexAt(footerFields(5, 5, 0), footerPositional, 12, 20)), damage.Unsupported, "INT32 with the encoding DICT"},
		"STRING, no dictionary":   {withFooter(indexAt(footerFields(8, 0, 0), footerPositional, 12, 20)), damage.Header, "no dictionary"},
		"2^32+1 values":           {withFooter(footerFields(5, 1, maxValues+1)), damage.Value, "field 3"},
		"-1 values":               {withFooter(footerFields(5, 1, math.MaxUint64)), damage.Value, "field 3 is -1"},
		"compression 0":           {withFooter(protobuf.AppendVarint(validFooter(), footerCompression, 0)), damage.Codec, "compression 0"},
		"compression 257":         {withFooter(protobuf.AppendVarint(validFooter(), footerCompression, 257)), damage.Codec, "compression 257"},
		"type with bytes":         {withFooter(protobuf.AppendBytes(validFooter(), footerType, "x")), damage.Header, "wire type"},
		"metadata with a number":  {withFooter(protobuf.AppendVarint(validFooter(), footerMetadata, 1)), damage.Header, "wire type"},
		"half a pair":             {withFooter(protobuf.AppendBytes(validFooter(), footerMetadata, protobuf.AppendBytes(nil, pairKey, "k"))), damage.Header, "field 2 is missing"},
		"index without root":      {withFooter(protobuf.AppendBytes(validFooter(), footerValue, "")), damage.Header, "field 1 is missing"},
		"root without size":       {withFooter(protobuf.AppendBytes(validFooter(), footerValue, protobuf.AppendBytes(nil, treeRoot, protobuf.AppendVarint(nil, pointerOffset, 9)))), damage.Header, "field 2 is missing"},
		"cut field":               {withFooter(append(validFooter(), 0x3a, 5, 1)), damage.Header, "protobuf"},
		"cut tag":                 {withFooter(append(validFooter(), 0x80)), damage.Header, "protobuf"},
		"root in the header":      {withFooter(indexAt(footerFields(5, 1, 0), footerPositional, 11, 20)), damage.Size, "20 bytes at 11"},
		"root in the footer":      {withFooter(indexAt(footerFields(5, 1, 0), footerPositional, 93, 20)), damage.Size, "20 bytes at 93"},
		"root far away":           {withFooter(indexAt(footerFields(5, 1, 0), footerPositional, math.MaxInt64, 20)), damage.Size, "at 9223372036854775807"},
		"root of nothing":         {withFooter(indexAt(footerFields(5, 1, 0), footerPositional, 12, 3)), damage.Size, "3 bytes at 12"},
		"root of 2 GiB":           {withFooter(indexAt(footerFields(5, 1, 0), footerPositional, 12, 1<<31)), damage.Value, "field 2"},
		"dictionary far away":     {withFooter(protobuf.AppendBytes(validFooter(), footerDictionary, Pointer{1 << 40, 20}.append(nil))), damage.Size, "20 bytes at"},
		"value index in a header": {withFooter(indexAt(validFooter(), footerValue, 0, 20)), damage.Size, "20 bytes at 0"},
	} {
		_, err := Open(bytes.NewReader(c.b), int64(len(c.b)), "damaged.cf")
		var d *damage.Error
		if !errors.As(err, &d) || d.Kind != c.kind || !strings.Contains(d.Reason, c.reason) || d.File != "damaged.cf" {
			t.Errorf("%s: %v, expected %s: …%s…", name, err, c.kind, c.reason)
		}
	}
}

// message returns the message of the footer.
func (r *rawFile) message(t testing.TB) []byte {
	t.Helper()
	_ = r.bytes(t)
	return r.appendMessage(nil)
}

// An error of the reader is not damage.
func TestReadersErrors(t *testing.T) {
	b := small().bytes(t)
	failing := errors.New("the disk fails")
	for fails := range 12 {
		r := &failingReader{ReaderAt: bytes.NewReader(b), after: fails, err: failing}
		f, err := Open(r, int64(len(b)), "f.cf")
		if err == nil {
			err = walk(f)
		}
		if !errors.Is(err, failing) || isDamage(err) {
			t.Errorf("read %d fails: %v", fails, err)
		}
		r = &failingReader{ReaderAt: bytes.NewReader(b), after: fails, err: io.EOF}
		if f, err = Open(r, int64(len(b)), "f.cf"); err == nil {
			err = walk(f)
		}
		if !errors.Is(err, io.ErrUnexpectedEOF) || isDamage(err) {
			t.Errorf("read %d returns nothing: %v", fails, err)
		}
	}
}

type failingReader struct {
	io.ReaderAt
	after int
	err   error
}

func (r *failingReader) ReadAt(p []byte, off int64) (int, error) {
	if r.after--; r.after < 0 {
		return 0, r.err
	}
	return r.ReaderAt.ReadAt(p, off)
}
