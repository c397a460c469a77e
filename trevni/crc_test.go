package trevni

import (
	"bytes"
	"context"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// readTables opens a file and reads all its block tables.
func readTables(b []byte) error {
	f, err := Open(bytes.NewReader(b), int64(len(b)), "test.trv")
	if err != nil {
		return err
	}
	for i := range f.Columns() {
		if _, err := f.Blocks(i); err != nil {
			return err
		}
	}
	return nil
}

// Every change of one byte outside the blocks is reported when it is read. The
// first bytes of the metadata, which show the writer, are changed to all values.
func TestEveryHeaderAndTableByte(t *testing.T) {
	s := newSampler(12)
	s.cols = s.cols[2:12]
	b := sampleFile(t, s, 6, 3, Options{Values: []string{"i"}, Meta: []KeyValue{{"k", []byte("v")}}})
	f := openBytes(t, b)
	for at := range int64(len(b)) {
		if inBlocks(t, f, at) {
			continue
		}
		xors := changes(at, false)
		if at >= 16 && at < int64(firstKey) {
			xors = nil
			for x := 1; x < 256; x++ {
				xors = append(xors, byte(x))
			}
		}
		for _, x := range xors {
			b[at] ^= x
			if err := readTables(b); !isDamage(err) {
				t.Errorf("byte %d xor %02x: %v", at, x, err)
			}
			b[at] ^= x
		}
	}
}

func inBlocks(t *testing.T, f *File, at int64) bool {
	for i, c := range f.Columns() {
		blocks, err := f.Blocks(i)
		testenv.Must(t, err)
		for _, b := range blocks {
			if at >= b.Offset && at < b.Offset+b.StoredSize+int64(checksumSize(c.Checksum)) {
				return true
			}
		}
	}
	return false
}

// A file with one of the keys but not the others is damaged. A file without any of them
// is another writer's.
func TestMissingCRCKeys(t *testing.T) {
	crc := func(key string, n int) KeyValue { return KeyValue{key, make([]byte, n)} }
	table := func(n int) Metadata { return append(meta("a null"), crc(TableCRCKey, n)) }
	for name, test := range map[string]struct {
		file, column Metadata
		want         damage.Kind // "": sound
	}{
		"none":                      {nil, meta("a null"), ""},
		"a table without a header":  {nil, table(4), damage.Header},
		"a header without a table":  {Metadata{crc(HeaderCRCKey, 4)}, meta("a null"), damage.Header},
		"a longer first key":        {Metadata{crc(HeaderCRCKey+"s", 4)}, meta("a null"), damage.Header},
		"a longer key after it":     {Metadata{{SchemaKey, []byte("12345678")}, crc(HeaderCRCKey+"s", 4)}, meta("a null"), ""},
		"a table's CRC of 3 bytes":  {Metadata{crc(HeaderCRCKey, 4)}, table(3), damage.Header},
		"a header's CRC of 3 bytes": {Metadata{crc(HeaderCRCKey, 3)}, table(4), damage.Header},
		"a header's CRC of 5 bytes": {Metadata{crc(HeaderCRCKey, 5)}, table(4), damage.Header},
		"a wrong CRC":               {Metadata{crc(HeaderCRCKey, 4)}, table(4), damage.Checksum},
	} {
		b := rawFile{version: 2, meta: test.file, cols: []rawColumn{{meta: test.column}}}.bytes()
		if test.want == "" {
			if _, err := verifyBytes(b); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		wantKind(t, name, b, test.want)
	}
}

// Reading a column finds bytes after its blocks, but only in files of this
// package.
func TestBytesAfterAColumn(t *testing.T) {
	b := append(sampleFile(t, newSampler(17), 6, 3, Options{}), 0)
	if err := readTables(b); !isDamage(err) {
		t.Errorf("an extra byte: %v", err)
	}
	if err := readTables(dropCRC(b)); err != nil {
		t.Errorf("an extra byte in another writer's file: %v", err)
	}
}

// Verify finds every changed bit of a block, also those that the codec does not
// use.
func TestEveryBlockBit(t *testing.T) {
	for _, codec := range codecNames {
		s := newSampler(18)
		s.cols = []column.Column{{Name: "s", Type: column.String, Parent: -1}}
		b := sampleFile(t, s, 8, 4, Options{Codec: codec})
		f, unused := openBytes(t, b), 0
		for _, at := range blockBytes(t, f, 0) {
			for bit := range 8 {
				b[at] ^= 1 << bit
				if _, err := verifyBytes(b); !isDamage(err) {
					t.Fatalf("%s: byte %d bit %d: %v", codec, at, bit, err)
				}
				if f.verifyColumn(context.Background(), nil, 0, nil) == nil {
					unused++
				}
				b[at] ^= 1 << bit
			}
		}
		if codec == "deflate" && unused == 0 {
			t.Error("deflate uses every bit: the test shows nothing")
		}
	}
}
