package trevni

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Every change of one byte of a block or checksum is reported, or changes no
// value.
func TestEveryBlockByte(t *testing.T) {
	for _, codec := range codecNames {
		t.Run(codec, func(t *testing.T) {
			s := newSampler(11)
			b := sampleFile(t, s, 5, 3, Options{Codec: codec})
			f := openBytes(t, b)
			want := unitsOf(t, f)
			for col := range f.Columns() {
				for _, at := range blockBytes(t, f, col) {
					for _, x := range changes(at, codec == "bzip2" || codec == "zstandard") {
						checkChange(t, f, b, col, at, x, want)
					}
				}
			}
		})
	}
}

// changes returns the changes of the byte at an offset: one of its bits, and all of
// them. In soak it is changed to every other value. If the decoder is slow to start, it
// is only the one bit, and in soak each bit and all of them.
func changes(at int64, slow bool) (xors []byte) {
	switch {
	case !soak.Full() && slow:
		return []byte{1 << (at % 8)}
	case !soak.Full():
		return []byte{1 << (at % 8), 255}
	}
	for x := 1; x < 256; x++ {
		if !slow || x&(x-1) == 0 || x == 255 {
			xors = append(xors, byte(x))
		}
	}
	return xors
}

// blockBytes returns the offsets of all bytes of a column's blocks and checksums.
func blockBytes(t *testing.T, f *File, col int) (at []int64) {
	blocks, err := f.Blocks(col)
	testenv.Must(t, err)
	for _, b := range blocks {
		for j := range b.StoredSize + int64(checksumSize(f.Columns()[col].Checksum)) {
			at = append(at, b.Offset+j)
		}
	}
	return at
}

// checkChange changes a byte of b, which f reads.
func checkChange(t *testing.T, f *File, b []byte, col int, at int64, x byte, want []units) {
	t.Helper()
	b[at] ^= x
	defer func() { b[at] ^= x }()
	err := f.verifyColumn(context.Background(), nil, col, nil) // what Verify runs on each
	if err != nil {
		var d *damage.Error
		if !errors.As(err, &d) || d.Column != f.Columns()[col].Name || d.Block < 0 || d.Offset < 0 || d.Offset > at {
			t.Fatalf("byte %d xor %02x: not located: %v", at, x, err)
		}
		return
	}
	if !reflect.DeepEqual(unitsOf(t, f), want) {
		t.Fatalf("byte %d xor %02x changed values without an error", at, x)
	}
}

func TestEveryTruncation(t *testing.T) {
	b := sampleFile(t, newSampler(13), 6, 3, Options{})
	for n := range len(b) {
		f, err := Open(bytes.NewReader(b[:n]), int64(n), "test.trv")
		if err == nil {
			err = f.Verify(context.Background())
		}
		if !isDamage(err) {
			t.Errorf("%d of %d bytes: %v", n, len(b), err)
		}
	}
	b = append(b, 0)
	if err := openBytes(t, b).Verify(context.Background()); !isDamage(err) || !strings.Contains(err.Error(), "trailing") {
		t.Errorf("an extra byte: %v", err)
	}
}

// A failing disk is not a damaged file.
func TestReadErrorsAreNotDamage(t *testing.T) {
	b := sampleFile(t, newSampler(14), 6, 3, Options{})
	for from := range int64(len(b)) {
		f, err := Open(failingReader{bytes.NewReader(b), from}, int64(len(b)), "test.trv")
		if err == nil {
			err = f.Verify(context.Background())
		}
		if !errors.Is(err, errDisk) || isDamage(err) {
			t.Fatalf("reads fail from %d: %v", from, err)
		}
	}
	f := openBytes(t, b)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := f.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// rawFile builds a file by hand: one block per column, codec null.
type rawFile struct {
	version byte
	rows    int64
	meta    Metadata
	cols    []rawColumn
}

type rawColumn struct {
	meta   Metadata
	rows   uint32
	data   []byte
	sum    []byte
	start  int64  // 0: the real offset
	blocks uint32 // 0: one
}

func (f rawFile) bytes() []byte {
	b := append([]byte(magic), f.version)
	b = binary.LittleEndian.AppendUint64(b, uint64(f.rows))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(f.cols)))
	b = f.meta.append(b)
	for _, c := range f.cols {
		b = c.meta.append(b)
	}
	at := int64(len(b) + 8*len(f.cols))
	for _, c := range f.cols {
		start := at
		if c.start != 0 {
			start = c.start
		}
		b = binary.LittleEndian.AppendUint64(b, uint64(start))
		at += int64(16 + len(c.data) + len(c.sum))
	}
	for _, c := range f.cols {
		b = binary.LittleEndian.AppendUint32(b, max(c.blocks, 1))
		b = binary.LittleEndian.AppendUint32(b, c.rows)
		b = binary.LittleEndian.AppendUint32(b, uint32(len(c.data)))
		b = binary.LittleEndian.AppendUint32(b, uint32(len(c.data)))
		b = append(append(b, c.data...), c.sum...)
	}
	return b
}

// meta builds column metadata from "name type key=value…".
func meta(text string) Metadata {
	words := strings.Fields(text)
	m := Metadata{{keyName, []byte(words[0])}, {keyType, []byte(words[1])}}
	for _, w := range words[2:] {
		k, v, _ := strings.Cut(w, "=")
		m = append(m, KeyValue{"trevni." + k, []byte(v)})
	}
	return m
}

func verifyBytes(b []byte) (*File, error) {
	f, err := Open(bytes.NewReader(b), int64(len(b)), "test.trv")
	if err != nil {
		return nil, err
	}
	err = f.Verify(context.Background())
	if beside := verify(context.Background(), f, parallel.NewWorkers(3).Do); fmt.Sprint(beside) != fmt.Sprint(err) {
		return f, fmt.Errorf("with several workers: %v; with one: %v", beside, err)
	}
	return f, err
}

func TestOldVersions(t *testing.T) {
	repeats := rawFile{rows: 4, cols: []rawColumn{{meta: meta("a null array"), rows: 4, data: []byte{0x05, 0x00}}}} // -3, 0: three zeros, a zero
	plain := rawFile{rows: 2, cols: []rawColumn{{meta: meta("a null array"), rows: 2, data: []byte{0x02, 0x00}}}}
	for version := range byte(3) {
		plain.version, repeats.version = version, version
		f, err := verifyBytes(plain.bytes())
		if err != nil || f.Version() != version {
			t.Errorf("version %d: %v", version, err)
		}
		if _, err := verifyBytes(repeats.bytes()); isDamage(err) != (version < 2) {
			t.Errorf("version %d with repeats: %v", version, err)
		}
	}
	plain.version = 3
	if _, err := verifyBytes(plain.bytes()); !isDamage(err) {
		t.Errorf("version 3: %v", err)
	}
}

func TestJavasZeroChecksums(t *testing.T) {
	file := func(codec string, sums ...string) []byte {
		f := rawFile{version: 2, rows: 1, meta: Metadata{{keyCodec, []byte(codec)}, {keyChecksum, []byte("crc32")}}}
		for i, sum := range sums {
			f.cols = append(f.cols, rawColumn{meta: meta(string(rune('a'+i)) + " int"), rows: 1, data: []byte{0x04}, sum: []byte(sum)})
		}
		return f.bytes()
	}
	correct := string(appendChecksum(nil, ChecksumJava, []byte{0x04}))
	f, err := verifyBytes(file("null", "\x00\x00\x00\x00", correct))
	if err != nil || !f.Unverified() {
		t.Errorf("Java's zeros: %v, unverified %v", err, f.Unverified())
	}
	if f, err = verifyBytes(file("null", correct)); err != nil || f.Unverified() {
		t.Errorf("a correct checksum: %v, unverified %v", err, f.Unverified())
	}
	if _, err = verifyBytes(file("null", "\x00\x00\x00\x01")); !isDamage(err) {
		t.Errorf("a wrong checksum: %v", err)
	}
	b := file("null", "\x00\x00\x00\x00")
	b = bytes.Replace(b, []byte("crc32"), []byte("crc-32"), 1)
	if _, err = verifyBytes(b); err == nil {
		t.Error("a zero under the specification's name was accepted")
	}
}

func TestHostileHeaders(t *testing.T) {
	columns := func(metas ...string) []byte {
		f := rawFile{version: 2}
		for _, m := range metas {
			f.cols = append(f.cols, rawColumn{meta: meta(m)})
		}
		return f.bytes()
	}
	counted := func(n uint32, meta ...byte) []byte {
		b := append([]byte(magic), 2)
		b = binary.LittleEndian.AppendUint64(b, 0)
		return append(binary.LittleEndian.AppendUint32(b, n), meta...)
	}
	bigCount := binary.AppendVarint(nil, 1<<40)
	var deep []string
	for i := range maxDepth + 2 {
		m := "c" + string(binary.AppendVarint(nil, int64(64+i%60))) + "-" + strings.Repeat("x", i) + " null array"
		if i > 0 {
			m += " parent=" + strings.Fields(deep[i-1])[0]
		}
		deep = append(deep, m)
	}
	// sized returns a file with 2^31 in a field of the block table.
	sized := func(field int64) []byte {
		b := rawFile{version: 2, rows: 1, cols: []rawColumn{{meta: meta("a int"), rows: 1, data: []byte{2}}}}.bytes()
		binary.LittleEndian.PutUint32(b[openBytes(t, b).Columns()[0].Start+4+field:], 1<<31)
		return b
	}
	tests := map[string]struct {
		file []byte
		want damage.Kind
	}{
		"empty":                    {nil, damage.Magic},
		"another magic":            {[]byte("Obj\x01xxxxxxxxxxxxxxxxxxxx"), damage.Magic},
		"2^32-1 columns":           {counted(math.MaxUint32, 0), damage.Count},
		"2^40 metadata pairs":      {counted(0, bigCount...), damage.Truncated},
		"negative pairs":           {counted(0, 1), damage.Count},
		"a key of 2^40 bytes":      {counted(0, append([]byte{2}, bigCount...)...), damage.Truncated},
		"a varint without an end":  {counted(0, bytes.Repeat([]byte{0xff}, 20)...), damage.Header},
		"duplicate columns":        {columns("a int", "a int"), damage.Header},
		"unknown type":             {columns("a varchar"), damage.Header},
		"unknown codec":            {columns("a int codec=lzo"), damage.Codec},
		"unknown checksum":         {columns("a int checksum=md5"), damage.Header},
		"parent after its child":   {columns("a int parent=b", "b null array"), damage.Header},
		"its own parent":           {columns("a null array parent=a"), damage.Header},
		"parent that is no array":  {columns("a int", "b int parent=a"), damage.Header},
		"no such parent":           {columns("b int parent="), damage.Header},
		"values of an array":       {columns("a int array values"), damage.Header},
		"values of a child":        {columns("a null array", "b int parent=a values"), damage.Header},
		"duplicate metadata key":   {columns("a int x=1 x=2"), damage.Header},
		"no name":                  {rawFile{version: 2, cols: []rawColumn{{meta: Metadata{{keyType, []byte("int")}}}}}.bytes(), damage.Header},
		"too many ancestors":       {columns(deep...), damage.Unsupported},
		"start in the header":      {rawFile{version: 2, cols: []rawColumn{{meta: meta("a int"), start: 10}}}.bytes(), damage.Header},
		"start beyond the end":     {rawFile{version: 2, cols: []rawColumn{{meta: meta("a int"), start: 1 << 50}}}.bytes(), damage.Header},
		"start beyond 2^63":        {rawFile{version: 2, cols: []rawColumn{{meta: meta("a int"), start: -1}}}.bytes(), damage.Header},
		"negative row count":       {rawFile{version: 2, rows: -1}.bytes(), damage.Count},
		"2^32-1 blocks":            {rawFile{version: 2, cols: []rawColumn{{meta: meta("a int"), blocks: math.MaxUint32}}}.bytes(), damage.Count},
		"a block of 2^32-1 rows":   {rawFile{version: 2, rows: math.MaxUint32, cols: []rawColumn{{meta: meta("a null"), rows: math.MaxUint32}}}.bytes(), damage.Count},
		"a block of 2^31 bytes":    {sized(4), damage.Count},
		"2^31 bytes, compressed":   {sized(8), damage.Count},
		"fewer rows than the file": {rawFile{version: 2, rows: 3, cols: []rawColumn{{meta: meta("a null"), rows: 2}}}.bytes(), damage.Count},
		"more rows than the file":  {rawFile{version: 2, rows: 3, cols: []rawColumn{{meta: meta("a null"), rows: 4}}}.bytes(), damage.Count},
	}
	for name, test := range tests {
		before := allocated()
		_, err := verifyBytes(test.file)
		var d *damage.Error
		if !isDamage(err) || !errors.As(err, &d) || d.Kind != test.want {
			t.Errorf("%s: %v, want damage of the kind %s", name, err, test.want)
		}
		if n := allocated() - before; n > 1<<20+100*uint64(len(test.file)) {
			t.Errorf("%s: %d bytes allocated for a file of %d", name, n, len(test.file))
		}
	}
}

// With two columns at one start, a small file could claim many blocks.
func TestStartsAscend(t *testing.T) {
	b := rawFile{version: 2, cols: []rawColumn{{meta: meta("a null")}, {meta: meta("b null")}}}.bytes()
	f := openBytes(t, b)
	at := f.HeaderSize() - 8
	copy(b[at:], b[at-8:at])
	if _, err := Open(bytes.NewReader(b), int64(len(b)), "test.trv"); !isDamage(err) {
		t.Errorf("overlapping columns: %v", err)
	}
}

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestHostileBlocks reads blocks whose values do not fit their column, with correct
// checksums.
func TestHostileBlocks(t *testing.T) {
	long := func(v int64) []byte { return binary.AppendVarint(nil, v) }
	tests := map[string][]rawColumn{
		"null with bytes":                {{meta: meta("a null"), rows: 2, data: []byte{0}}},
		"int of six bytes":               {{meta: meta("a int"), rows: 2, data: []byte{0, 0x80, 0x80, 0x80, 0x80, 0x80, 0}}},
		"int beyond 32 bits":             {{meta: meta("a int"), rows: 2, data: append(long(1<<31), 0)}},
		"long of eleven bytes":           {{meta: meta("a long"), rows: 2, data: append(bytes.Repeat([]byte{0x80}, 10), 0, 0)}},
		"a missing value":                {{meta: meta("a long"), rows: 2, data: []byte{0}}},
		"an extra value":                 {{meta: meta("a long"), rows: 2, data: []byte{0, 0, 0}}},
		"half a double":                  {{meta: meta("a double"), rows: 2, data: make([]byte, 12)}},
		"string beyond the block":        {{meta: meta("a string"), rows: 2, data: append([]byte{0}, long(1<<40)...)}},
		"string of negative length":      {{meta: meta("a string"), rows: 2, data: []byte{0, 1}}},
		"booleans in too many bytes":     {{meta: meta("a boolean"), rows: 2, data: []byte{0, 0}}},
		"a repeat beyond the rows":       {{meta: meta("a null array"), rows: 2, data: []byte{0x05}}},
		"the longest repeat":             {{meta: meta("a null array"), rows: 2, data: long(math.MinInt32)}},
		"2^31-1 strings":                 {{meta: meta("a string array"), rows: 2, data: append(long(math.MaxInt32), 0, 0)}},
		"2^31-1 booleans":                {{meta: meta("a boolean array"), rows: 2, data: append(long(math.MaxInt32), 0, 0)}},
		"a child without its items":      {{meta: meta("p null array"), rows: 2, data: []byte{2, 2}}, {meta: meta("c int parent=p"), rows: 2, data: []byte{0}}},
		"a child with more items":        {{meta: meta("p null array"), rows: 2, data: []byte{2, 2}}, {meta: meta("c int parent=p"), rows: 2, data: []byte{0, 0, 0}}},
		"a child of 2^32 items":          {{meta: meta("p null array"), rows: 2, data: append(long(math.MaxInt32), long(math.MaxInt32)...)}, {meta: meta("c boolean parent=p"), rows: 2, data: []byte{0}}},
		"a null child with bytes":        {{meta: meta("p null array"), rows: 2, data: []byte{2, 2}}, {meta: meta("c null parent=p"), rows: 2, data: []byte{0}}},
		"an array child without repeats": {{meta: meta("p null array"), rows: 2, data: []byte{4, 4}}, {meta: meta("c null array parent=p"), rows: 2, data: []byte{5}}},
	}
	for name, cols := range tests {
		b := rawFile{version: 2, rows: 2, cols: cols}.bytes()
		f, err := verifyBytes(b)
		if !isDamage(err) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		before := allocated()
		for i := range f.Columns() {
			exercise(t, f, i)
		}
		if n := allocated() - before; n > 1<<20 {
			t.Errorf("%s: %d bytes allocated", name, n)
		}
		if err := f.Dump(io.Discard); !isDamage(err) {
			t.Errorf("%s: dump: %v", name, err)
		}
	}
}

// exercise reads a column in every way. Nothing may panic, and every error must be
// damage.
func exercise(t testing.TB, f *File, col int) {
	c, err := f.Cursor(col)
	if err != nil {
		if !isDamage(err) {
			t.Fatal(err)
		}
		return
	}
	for _, row := range []int64{0, f.RowCount() / 2, f.RowCount()} {
		if err := c.SeekRow(row); err != nil && !isDamage(err) {
			t.Fatalf("seek to row %d: %v", row, err)
		}
		for range 100 {
			if c.col.Array {
				if _, err = c.Length(); err == nil {
					_, err = c.Value(nil)
				}
			} else {
				_, err = c.Value(nil)
			}
			if err != nil {
				break
			}
		}
		if err != nil && !isDamage(err) && !errors.Is(err, io.EOF) && !errors.Is(err, column.ErrNoValue) {
			t.Fatal(err)
		}
	}
}

// A small block may claim to be huge. Memory grows only with its real output.
func TestDecompressionClaims(t *testing.T) {
	for _, codec := range codecNames {
		b := sampleFile(t, newSampler(2), 2, 0, Options{Codec: codec})
		f := openBytes(t, dropCRC(b))
		for i, c := range f.Columns() {
			if c.Type == column.Null && !c.Array {
				continue
			}
			blocks, err := f.Blocks(i)
			testenv.Must(t, err)
			if blocks[0].RawSize == 0 {
				continue
			}
			changed := bytes.Clone(b)
			for _, raw := range []uint32{1 << 28, math.MaxInt32, math.MaxUint32, 0} {
				binary.LittleEndian.PutUint32(changed[c.Start+8:], raw)
				before := allocated()
				g := openBytes(t, dropCRC(changed))
				if cur, err := g.Cursor(i); err == nil {
					if err := cur.SeekRow(0); !isDamage(err) {
						t.Errorf("%s, column %s, raw size %d: %v", codec, c.Name, raw, err)
					}
				} else if !isDamage(err) {
					t.Error(err)
				}
				if n := allocated() - before; n > 16<<20 {
					t.Errorf("%s, column %s, raw size %d: %d bytes allocated", codec, c.Name, raw, n)
				}
			}
		}
	}
	f := openBytes(t, sampleFile(t, newSampler(2), 50, 0, Options{}))
	f.MaxBlock = 10
	var d *damage.Error
	if err := f.Verify(context.Background()); !errors.As(err, &d) || d.Kind != damage.Unsupported {
		t.Errorf("blocks above MaxBlock: %v", err)
	}
}
