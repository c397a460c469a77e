package ocf_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// account is an account with a number of bytes left.
type account struct{ left int64 }

var errNoMemory = errors.New("no memory")

func (a *account) Reserve(n int64) error {
	if n > a.left {
		return errNoMemory
	}
	a.left -= n
	return nil
}

func (a *account) Release(n int64) { a.left += n }

// readAll returns the rows of all blocks, and the error that ended them.
func readAll(t *testing.T, r *ocf.Reader, err error) (rows []byte, count int64, _ error) {
	t.Helper()
	for err == nil {
		var b *ocf.Block
		var data []byte
		if b, data, err = r.Next(t.Context()); err == nil {
			rows, count = append(rows, data...), count+b.Rows
		}
	}
	if err == io.EOF {
		err = nil
	}
	return rows, count, err
}

// blocks makes a file of blocks of the given sizes, and returns the file and the rows.
func blocks(t *testing.T, codec string, sizes ...int) (all, rows []byte) {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, `"bytes"`, codec, [16]byte{9})
	testenv.Must(t, err)
	for i, size := range sizes {
		data := bytes.Repeat([]byte{byte(i), byte(i * 7)}, size/2)
		testenv.Must(t, w.AppendBlock(int64(i+1), data))
		rows = append(rows, data...)
	}
	return b.Bytes(), rows
}

// A stream has the same blocks as the file, with reads of any size.
func TestReader(t *testing.T) {
	for _, codec := range []string{"null", "deflate", "snappy", "zstandard", "bzip2", "xz"} {
		all, want := blocks(t, codec, 10, 0, 100_000, 20, 3<<20, 30)
		for name, r := range map[string]func() (*ocf.Reader, error){
			"file": func() (*ocf.Reader, error) {
				return ocf.NewReader(bytes.NewReader(all), int64(len(all)), "a", 1<<26, &account{1 << 26})
			},
			"stream": func() (*ocf.Reader, error) {
				return ocf.NewStreamReader(bytes.NewReader(all), "a", 1<<26, &account{1 << 26})
			},
			"halves": func() (*ocf.Reader, error) {
				return ocf.NewStreamReader(iotest.HalfReader(bytes.NewReader(all)), "a", 1<<26, &account{1 << 26})
			},
		} {
			reader, err := r()
			rows, count, err := readAll(t, reader, err)
			if err != nil || count != 21 || !bytes.Equal(rows, want) {
				t.Errorf("%s, %s: %d rows, %d bytes of %d, %v", codec, name, count, len(rows), len(want), err)
			}
			reader, err = r()
			testenv.Must(t, err)
			if n, more, err := reader.Skip(t.Context(), 9); n != 6 || !more || err != nil {
				t.Errorf("%s, %s: skipped %d, %t, %v", codec, name, n, more, err)
			}
			if n, more, err := reader.Skip(t.Context(), math.MaxInt64); n != 15 || more || err != nil {
				t.Errorf("%s, %s: skipped %d, %t, %v", codec, name, n, more, err)
			}
		}
	}
}

// A stream must end after a block, like a file. Any other end is damage.
func TestStreamEndsEarly(t *testing.T) {
	all, _ := blocks(t, "null", 10, 40, 6)
	whole := map[int]bool{}
	full, err := ocf.NewReader(bytes.NewReader(all), int64(len(all)), "a", 1<<20, &account{1 << 20})
	testenv.Must(t, err)
	whole[int(full.Header().Size)] = true
	for b, _, err := full.Next(t.Context()); err == nil; b, _, err = full.Next(t.Context()) {
		whole[int(b.Range().End)] = true
	}
	for n := range len(all) {
		r, err := ocf.NewStreamReader(bytes.NewReader(all[:n]), "a", 1<<20, &account{1 << 20})
		_, _, err = readAll(t, r, err)
		if damaged := errors.As(err, new(*damage.Error)); damaged == whole[n] || err != nil && !damaged {
			t.Errorf("%d of %d bytes: %v", n, len(all), err)
		}
		r, err = ocf.NewStreamReader(bytes.NewReader(all[:n]), "a", 1<<20, &account{1 << 20})
		if err == nil {
			_, _, err = r.Skip(t.Context(), math.MaxInt64)
		}
		if damaged := errors.As(err, new(*damage.Error)); damaged == whole[n] {
			t.Errorf("skipping %d of %d bytes: %v", n, len(all), err)
		}
	}
	large, _ := blocks(t, "null", 10, 3<<20)
	for _, n := range []int{len(large) - 1, len(large) - 20, len(large) - 2<<20} {
		r, err := ocf.NewStreamReader(bytes.NewReader(large[:n]), "a", 1<<26, &account{1 << 26})
		if _, _, err := readAll(t, r, err); !errors.As(err, new(*damage.Error)) {
			t.Errorf("%d of %d bytes: %v", n, len(large), err)
		}
		r, err = ocf.NewStreamReader(bytes.NewReader(large[:n]), "a", 1<<26, &account{1 << 26})
		if err == nil {
			_, _, err = r.Skip(t.Context(), math.MaxInt64)
		}
		if !errors.As(err, new(*damage.Error)) {
			t.Errorf("skipping %d of %d bytes: %v", n, len(large), err)
		}
	}
	failing := errors.New("failing")
	r, err := ocf.NewStreamReader(io.MultiReader(bytes.NewReader(all[:len(all)-20]), iotest.ErrReader(failing)), "a", 1<<20, &account{1 << 20})
	if _, _, err := readAll(t, r, err); !errors.Is(err, failing) || errors.As(err, new(*damage.Error)) {
		t.Error(err)
	}
}

// Memory is reserved before it is allocated, and released after a large block. A false
// size is damage, and reserves nothing.
func TestReaderMemory(t *testing.T) {
	all, _ := blocks(t, "snappy", 10, 8<<20, 10)
	memory := &account{32 << 20}
	r, err := ocf.NewReader(bytes.NewReader(all), int64(len(all)), "a", 1<<26, memory)
	for range 3 {
		if err == nil {
			_, _, err = r.Next(t.Context())
		}
	}
	if err != nil || memory.left < 30<<20 {
		t.Errorf("%d bytes left, %v", memory.left, err)
	}
	r, err = ocf.NewReader(bytes.NewReader(all), int64(len(all)), "a", 1<<26, &account{1 << 20})
	if _, _, err := readAll(t, r, err); !errors.Is(err, errNoMemory) {
		t.Error(err)
	}
	lie, _ := blocks(t, "null", 10)
	lie = append(lie, 2, 0x80, 0x80, 0x80, 0x08) // 8 MiB
	lie = append(lie, make([]byte, 9<<20)...)
	r, err = ocf.NewReader(bytes.NewReader(lie), int64(len(lie)), "a", 1<<26, &account{1 << 20})
	if _, _, err := readAll(t, r, err); !errors.As(err, new(*damage.Error)) {
		t.Error(err)
	}
}

// Memory is reserved for headers, too.
func TestHeaderMemory(t *testing.T) {
	schema := `{"type":"int","doc":"` + strings.Repeat("d", 1<<20) + `"}`
	var b bytes.Buffer
	if _, err := ocf.NewWriter(&b, schema, "null", [16]byte{9}); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	for _, test := range []struct {
		memory int64
		want   error
	}{{1 << 20, errNoMemory}, {3 << 20, nil}} {
		if _, err := ocf.NewReader(bytes.NewReader(file), int64(len(file)), "a", 1<<26, &account{test.memory}); !errors.Is(err, test.want) {
			t.Errorf("a file, with %d bytes: %v", test.memory, err)
		}
		if _, err := ocf.NewStreamReader(bytes.NewReader(file), "a", 1<<26, &account{test.memory}); !errors.Is(err, test.want) {
			t.Errorf("a stream, with %d bytes: %v", test.memory, err)
		}
	}
}
