package bloom

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
)

// written returns a file of n keys, which key makes.
func written(t testing.TB, o Options, n int, key func(dst []byte, i int) []byte) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := NewWriter(&file, o)
	if err != nil {
		t.Fatal(err)
	}
	var k []byte
	for i := range n {
		k = key(k[:0], i)
		if err := w.Add(k); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

func opened(t testing.TB, file []byte) *File {
	t.Helper()
	f, err := Open(bytes.NewReader(file), int64(len(file)), "test.cf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// may is what a prober says of a key.
func may(t testing.TB, p *Prober, key []byte) bool {
	t.Helper()
	is, err := p.MayContain(key)
	if err != nil {
		t.Fatalf("key %x: %v", key, err)
	}
	return is
}

// number is the key of an INT64, which are the even numbers from 0.
func number(dst []byte, i int) []byte { return odd(dst, 2*i) }

func odd(dst []byte, i int) []byte {
	dst, err := cfile.AppendKey(dst, cfile.Int64, binary.LittleEndian.AppendUint64(nil, uint64(i)))
	if err != nil {
		panic(err)
	}
	return dst
}

func text(dst []byte, i int) []byte { return fmt.Appendf(dst, "key%08d", i) }

// TestSample reads a file of Kudu's, and writes the same.
func TestSample(t *testing.T) {
	sample, err := os.ReadFile("../testdata/kudu/bloom_4000keys.cf")
	if err != nil {
		t.Fatal(err)
	}
	p := opened(t, sample).Prober()
	defer p.Close()
	var key []byte
	wrong := 0
	for i := range 400_000 {
		key = text(key[:0], i)
		if is := may(t, p, key); !is && i < 4000 {
			t.Fatalf("%s is not there", key)
		} else if is && i >= 4000 {
			wrong++
		}
	}
	// All but the first 4,000 are looked for in the last filter, which is far from full.
	if wrong > 40 {
		t.Errorf("%d false positives", wrong)
	}
	if got := written(t, Options{}, 4000, text); !bytes.Equal(got, sample) {
		t.Errorf("writing it again made another file, of %d bytes, not %d", len(got), len(sample))
	}
}

// TestMillion keys: none is missed, and the rate of false positives is that of the design.
func TestMillion(t *testing.T) {
	const n = 1_000_000
	p := opened(t, written(t, Options{}, n, number)).Prober()
	defer p.Close()
	var key []byte
	wrong := 0
	for i := range n {
		key = number(key[:0], i)
		if !may(t, p, key) {
			t.Fatalf("%d is not there", 2*i)
		}
		key = odd(key[:0], 2*i+1)
		if may(t, p, key) {
			wrong++
		}
	}
	if rate := float64(wrong) / n; rate > 2*DefaultFalsePositives || rate < DefaultFalsePositives/2 {
		t.Errorf("the rate of false positives is %v", rate)
	}
}

// TestDesign is Kudu's.
func TestDesign(t *testing.T) {
	for _, c := range []struct {
		o            Options
		keys, hashes int
	}{
		{Options{}, 1710, 13},
		{Options{BlockSize: 4096, FalsePositives: 0.0001}, 1710, 13},
		{Options{FalsePositives: 0.01}, 3419, 6},
		{Options{FalsePositives: 0.999}, 15735286, 1},
		{Options{BlockSize: 8 << 20, FalsePositives: math.Nextafter(1, 0)}, math.MaxInt32, 1},
		{Options{BlockSize: 1}, 1, 5},
		{Options{FalsePositives: 5e-324}, 23, 987},
	} {
		if keys, hashes := c.o.Keys(), c.o.Hashes(); keys != c.keys || hashes != c.hashes || hashes > maxHashes {
			t.Errorf("%+v: %d keys, %d hash functions, want %d and %d", c.o, keys, hashes, c.keys, c.hashes)
		}
	}
}

// counted counts reads.
type counted struct {
	io.ReaderAt
	n int
}

func (c *counted) ReadAt(p []byte, off int64) (int, error) {
	c.n++
	return c.ReaderAt.ReadAt(p, off)
}

// TestReads of a question are those of the blocks on the way, and of the next question, if
// its key is in the same filter, none.
func TestReads(t *testing.T) {
	const n = 50_000
	file := written(t, Options{BlockSize: 16}, n, number)
	r := &counted{ReaderAt: bytes.NewReader(file)}
	f, err := Open(r, int64(len(file)), "test.cf")
	if err != nil {
		t.Fatal(err)
	}
	height, err := f.file.Height(false)
	if err != nil {
		t.Fatal(err)
	}
	if height < 2 {
		t.Fatalf("the index has %d level", height)
	}
	var key []byte
	for range 100 {
		i := rand.IntN(n)
		p := f.Prober()
		r.n = 0
		if key = number(key[:0], i); !may(t, p, key) {
			t.Fatalf("%d is not there", 2*i)
		}
		if r.n > height+1 {
			t.Fatalf("%d reads, and the index has %d levels", r.n, height)
		}
		r.n = 0
		may(t, p, key)
		if r.n > 0 {
			t.Fatalf("the same question again took %d reads", r.n)
		}
		p.Close()
	}
	p := f.Prober()
	defer p.Close()
	for i := range n {
		if key = number(key[:0], i); !may(t, p, key) {
			t.Fatalf("%d is not there", 2*i)
		}
	}
	if may(t, p, []byte{0x7f}) {
		t.Error("a key before the first is there")
	}
}

// TestFew keys make a file of one filter or none; some of them are alike, or empty.
func TestFew(t *testing.T) {
	for _, keys := range [][]string{nil, {""}, {"a"}, {"a", "a", "b"}, {"", "", ""}, {"a", "ab", "abc"}} {
		p := opened(t, written(t, Options{BlockSize: 1}, len(keys), func(_ []byte, i int) []byte { return []byte(keys[i]) })).Prober()
		for _, key := range keys {
			if !may(t, p, []byte(key)) {
				t.Errorf("%q: %q is not there", keys, key)
			}
		}
		if len(keys) == 0 && may(t, p, []byte("a")) {
			t.Error("there is a key in no keys")
		}
		p.Close()
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, o := range []Options{{BlockSize: -1}, {BlockSize: 8<<20 + 1}, {FalsePositives: 1}, {FalsePositives: -0.1}} {
		if _, err := NewWriter(io.Discard, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	w, err := NewWriter(io.Discard, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add([]byte("b")); err != nil {
		t.Fatal(err)
	}
	refused := w.Add([]byte("a"))
	if refused == nil {
		t.Error("a key that is less than the one before is taken")
	}
	if err := w.Add([]byte("c")); !errors.Is(err, refused) {
		t.Errorf("then: %v", err)
	}
	if err := w.Close(); !errors.Is(err, refused) {
		t.Errorf("at the end: %v", err)
	}
	w, err = NewWriter(io.Discard, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(make([]byte, cfile.MaxKey)); err != nil {
		t.Fatal(err)
	}
	if w.Add(make([]byte, cfile.MaxKey+1)) == nil {
		t.Error("a key that is longer than Kudu's are is taken")
	}
	w, err = NewWriter(io.Discard, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if w.Add(nil) == nil || w.Close() == nil {
		t.Error("a writer that was closed goes on")
	}
}

// full is a disk without room for more than so many bytes.
type full int

var errFull = errors.New("full")

func (f *full) Write(p []byte) (int, error) {
	n := min(len(p), int(*f))
	if *f -= full(n); n < len(p) {
		return n, errFull
	}
	return n, nil
}

// TestFullDisk is told, wherever it becomes full.
func TestFullDisk(t *testing.T) {
	size := len(written(t, Options{BlockSize: 64}, 100, text))
	for room := range size {
		disk := full(room)
		w, err := NewWriter(&disk, Options{BlockSize: 64})
		for i := 0; i < 100 && err == nil; i++ {
			err = w.Add(text(nil, i))
		}
		if err == nil {
			err = w.Close()
		}
		if !errors.Is(err, errFull) {
			t.Fatalf("%d of %d bytes: %v", room, size, err)
		}
	}
}
