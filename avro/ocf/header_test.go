package ocf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// long is v as an Avro long.
func long(v int64) string { return string(binary.AppendVarint(nil, v)) }

// str is s as an Avro string.
func str(s string) string { return long(int64(len(s))) + s }

const objMagic = "Obj\x01"

var (
	schemaEntry = str(KeySchema) + str(`"int"`)
	codecEntry  = str(KeyCodec) + str("deflate")
	sync16      = string(testSync[:])
)

func TestReadHeader(t *testing.T) {
	two := schemaEntry + codecEntry
	tests := []struct {
		name, file   string
		codec, other string
		entries      int
	}{
		{"one map block", objMagic + long(2) + two + "\x00" + sync16, "deflate", "", 2},
		{"negative count", objMagic + long(-2) + long(int64(len(two))) + two + "\x00" + sync16, "deflate", "", 2},
		{"blocks of both kinds", objMagic + long(1) + schemaEntry + long(-1) + long(int64(len(codecEntry))) + codecEntry +
			long(1) + str("x") + str("y") + "\x00" + sync16, "deflate", "y", 3},
		{"no codec key", objMagic + long(1) + schemaEntry + "\x00" + sync16, "null", "", 1},
		{"last of equal keys", objMagic + long(4) + codecEntry + schemaEntry + str(KeyCodec) + str("snappy") +
			str("x") + str("") + "\x00" + sync16, "snappy", "", 4},
		{"padded varint", objMagic + "\x82\x80\x00" + schemaEntry + "\x00" + sync16, "null", "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := tt.file + "what follows"
			h, err := ReadHeader(strings.NewReader(file), int64(len(file)), "f.avro")
			testenv.Must(t, err)
			if h.Schema != `"int"` || h.Codec != tt.codec || h.Sync != testSync || h.Size != int64(len(tt.file)) || len(h.Meta) != tt.entries {
				t.Errorf("got %+v, want codec %s, size %d, %d entries", h, tt.codec, len(tt.file), tt.entries)
			}
			if got, _ := h.Get("x"); string(got) != tt.other {
				t.Errorf("Get(x) = %q, want %q", got, tt.other)
			}
		})
	}
}

func TestReadHeaderDamage(t *testing.T) {
	good := objMagic + long(1) + schemaEntry + "\x00" + sync16
	tests := []struct {
		name, file string
		kind       damage.Kind
		offset     int64
	}{
		{"empty file", "", damage.Magic, 0},
		{"short file", "Ob", damage.Magic, 0},
		{"other file", "PAR1 and more", damage.Magic, 0},
		{"old version", "Obj\x00" + good[4:], damage.Magic, 0},
		{"magic only", objMagic, damage.Truncated, 4},
		{"no sync", good[:len(good)-1], damage.Truncated, int64(len(good) - 16)},
		{"cut in a value", good[:20], damage.Truncated, 18},
		{"no schema", objMagic + long(1) + codecEntry + "\x00" + sync16, damage.Header, 0},
		{"no metadata", objMagic + "\x00" + sync16, damage.Header, 0},
		{"empty schema", objMagic + long(1) + str(KeySchema) + str("") + "\x00" + sync16, damage.Header, 17},
		{"unknown codec", objMagic + long(2) + schemaEntry + str(KeyCodec) + str("lzo") + "\x00" + sync16, damage.Codec, 34},
		{"empty codec", objMagic + long(2) + schemaEntry + str(KeyCodec) + str("") + "\x00" + sync16, damage.Codec, 34},
		{"negative key length", objMagic + long(1) + long(-4) + good, damage.Header, 6},
		{"huge key length", objMagic + long(1) + long(math.MaxInt64) + good, damage.Truncated, 15},
		{"huge count", objMagic + long(math.MaxInt64) + schemaEntry, damage.Header, 4},
		{"least count", objMagic + long(math.MinInt64) + long(4) + schemaEntry, damage.Header, 4},
		{"huge map block", objMagic + long(-1) + long(1<<40) + schemaEntry, damage.Header, 4},
		{"negative map block", objMagic + long(-1) + long(-1<<40) + schemaEntry + "\x00" + sync16, damage.Header, 4},
		{"map block beyond 2^63", objMagic + long(-1) + long(math.MaxInt64) + schemaEntry + "\x00" + sync16, damage.Header, 4},
		{"wrong map block", objMagic + long(-1) + long(9) + schemaEntry + "\x00" + sync16, damage.Header, 4},
		{"overlong varint", objMagic + strings.Repeat("\x80", 10) + "\x00" + schemaEntry, damage.Header, 4},
		{"overflowing varint", objMagic + strings.Repeat("\xff", 9) + "\x7f" + schemaEntry, damage.Header, 4},
		{"too many entries", objMagic + long(maxEntries+1) + strings.Repeat("\x00\x00", maxEntries+1), damage.Header, 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ReadHeader(strings.NewReader(tt.file), int64(len(tt.file)), "f.avro")
			wantDamage(t, err, tt.kind, tt.offset)
		})
	}
}

// TestReadHeaderCap has a value that fits into the file but is too large for a header.
func TestReadHeaderCap(t *testing.T) {
	head := objMagic + long(1) + str("k") + long(maxHeader)
	r := &sparse{head: []byte(head), size: 1 << 40}
	_, err := ReadHeader(r, r.size, "f.avro")
	wantDamage(t, err, damage.Header, 11)
}

// sparse is a large file of zeros after a head.
type sparse struct {
	head []byte
	size int64
}

func (s *sparse) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(int64(len(p)), s.size-off))
	clear(p[:n])
	if off < int64(len(s.head)) {
		copy(p[:n], s.head[off:])
	}
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestReadHeaderIOError(t *testing.T) {
	file := writeFile(t, "null")
	boom := errors.New("boom")
	for name, r := range map[string]io.ReaderAt{
		"failing disk": &flaky{r: bytes.NewReader(file), fail: 1, err: boom},
		"shrunk file":  bytes.NewReader(file[:len(file)-20]),
	} {
		_, err := ReadHeader(r, int64(len(file)), "f.avro")
		var d *damage.Error
		if errors.As(err, &d) {
			t.Errorf("%s: reported as damage: %v", name, err)
		}
		if !errors.Is(err, boom) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// flaky fails its fail-th read, counted from 1, and no other.
type flaky struct {
	r     io.ReaderAt
	reads int
	fail  int
	err   error
}

func (f *flaky) ReadAt(p []byte, off int64) (int, error) {
	if f.reads++; f.reads == f.fail {
		return 0, f.err
	}
	return f.r.ReadAt(p, off)
}
