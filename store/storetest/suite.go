package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

// Run tests a store. open returns the store and an empty directory on it. It is called once per
// subtest. The caller removes the directories.
func Run(t *testing.T, open func(t *testing.T) (st store.Store, dir string)) {
	tests := []struct {
		name string
		test func(e env)
	}{
		{"create and read", testCreate},
		{"create without a known size", testUnknownSize},
		{"create is exclusive", testCreateExclusive},
		{"create without parent", testNoParent},
		{"commit checks the size", testCommitSize},
		{"abort", testAbort},
		{"not found", testNotFound},
		{"below a file", testBelowFile},
		{"open a directory", testOpenDir},
		{"stat and list", testList},
		{"rename a file", testRenameFile},
		{"rename a directory", testRenameDir},
		{"rename has one winner", testRenameRace},
		{"remove", testRemove},
		{"make a directory", testMkdir},
		{"small files", testSmallFiles},
		{"identity", testIdentity},
		{"exclusive small file has one winner", testExclusiveRace},
		{"replaced small file is always whole", testReplace},
		{"ended context", testContext},
		{"glob", testGlob},
		{"checksum", testChecksum},
		{"access", testAccess},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			st, dir := open(t)
			tt.test(env{T: t, st: st, dir: dir, ctx: t.Context()})
		})
	}
}

func testCreate(e env) {
	data := bytes.Repeat([]byte("row to column "), 20_000)
	w, err := e.st.Create(e.ctx, e.path("f"), store.CreateOptions{Size: int64(len(data))})
	e.must(err)
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 9_999)
		_, err := w.Write(rest[:n])
		e.must(err)
		rest = rest[n:]
	}
	e.must(w.Commit(e.ctx))
	e.must(w.Abort())

	f, err := e.st.Open(e.ctx, e.path("f"))
	e.must(err)
	if f.Size() != int64(len(data)) || f.Name() != e.path("f") {
		e.Errorf("opened %s of %d bytes, want %s of %d", f.Name(), f.Size(), e.path("f"), len(data))
	}
	got, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
	e.must(err)
	if !bytes.Equal(got, data) {
		e.Error("the bytes read differ from those written")
	}
	clear(got)
	if n, err := store.ReadRange(f, got[7:], 7); n != len(got)-7 || err != nil && err != io.EOF || !bytes.Equal(got[7:], data[7:]) {
		e.Errorf("ReadRange differs from the bytes written: %d, %v", n, err)
	}
	part := make([]byte, 10)
	for _, read := range []func([]byte, int64) (int, error){f.ReadAt, func(p []byte, off int64) (int, error) { return store.ReadRange(f, p, off) }} {
		if n, err := read(part, f.Size()-4); n != 4 || !errors.Is(err, io.EOF) {
			e.Errorf("read at the end: %d bytes, %v; want 4, EOF", n, err)
		}
	}
	e.must(f.Close())

	e.write("empty", nil)
	e.wantContent("empty", nil)
}

// testIdentity checks that a file that is opened twice has one identity, and that another file of
// the same name and length has another identity. A store may have no identities.
func testIdentity(e env) {
	identity := func() store.Identity {
		f, err := e.st.Open(e.ctx, e.path("f"))
		e.must(err)
		defer func() { e.must(f.Close()) }()
		return store.IdentityOf(f)
	}
	e.write("f", []byte("first"))
	first := identity()
	if again := identity(); again != first {
		e.Errorf("a file is %+v, then %+v", first, again)
	}
	e.must(e.st.Remove(e.ctx, e.path("f")))
	time.Sleep(20 * time.Millisecond) // more than a tick of local disk's clock
	e.write("f", []byte("other"))
	if other := identity(); other == first && other != (store.Identity{}) {
		e.Errorf("two files have the identity %+v", other)
	}
}

func testUnknownSize(e env) {
	w, err := e.st.Create(e.ctx, e.path("f"), store.CreateOptions{Size: -1})
	e.must(err)
	_, err = io.Copy(w, bytes.NewReader([]byte("any length")))
	e.must(err)
	e.must(w.Commit(e.ctx))
	e.wantContent("f", []byte("any length"))
}

func testCreateExclusive(e env) {
	e.write("f", []byte("first"))
	_, err := e.st.Create(e.ctx, e.path("f"), store.CreateOptions{Size: 6})
	e.wantError(err, store.ErrExist)
	e.wantContent("f", []byte("first"))
	e.must(e.st.Mkdir(e.ctx, e.path("d")))
	_, err = e.st.Create(e.ctx, e.path("d"), store.CreateOptions{Size: 6})
	e.wantError(err, store.ErrExist)
}

func testNoParent(e env) {
	_, err := e.st.Create(e.ctx, e.path("no/f"), store.CreateOptions{Size: 1})
	e.wantError(err, store.ErrNoParent)
	e.wantError(e.st.WriteFile(e.ctx, e.path("no/f"), nil, true), store.ErrNoParent)
	e.write("f", nil)
	e.wantError(e.st.Rename(e.ctx, e.path("f"), e.path("no/f")), store.ErrNoParent)
	e.wantNames("f")
}

func testCommitSize(e env) {
	for _, n := range []int{0, 4, 6} {
		w, err := e.st.Create(e.ctx, e.path("f"), store.CreateOptions{Size: 5})
		e.must(err)
		_, writeErr := w.Write(make([]byte, n))
		if err := w.Commit(e.ctx); err == nil && writeErr == nil {
			e.Errorf("%d bytes are accepted instead of 5", n)
		}
		e.must(w.Abort())
		e.wantNames()
	}
}

func testAbort(e env) {
	w, err := e.st.Create(e.ctx, e.path("f"), store.CreateOptions{Size: -1})
	e.must(err)
	_, err = w.Write([]byte("half"))
	e.must(err)
	e.must(w.Abort())
	e.wantNames()
	if w.Commit(e.ctx) == nil {
		e.Error("commit after abort succeeded")
	}
	if _, err := w.Write([]byte("x")); err == nil {
		e.Error("write after abort succeeded")
	}
	e.must(w.Abort())
	e.wantNames()
}

func testList(e env) {
	e.wantNames()
	e.write("b", []byte("12345"))
	e.write("a-b", nil)
	e.write(".hidden", nil)
	e.must(e.st.Mkdir(e.ctx, e.path("a")))
	e.write("a/deep", nil)
	e.wantNames(".hidden", "a", "a-b", "b")
	infos, err := e.st.List(e.ctx, e.dir)
	e.must(err)
	for _, i := range infos {
		if i.Path != e.path(i.Name) {
			e.Errorf("path of %s is %s", i.Name, i.Path)
		}
		stat, err := e.st.Stat(e.ctx, i.Path)
		e.must(err)
		if stat.Name != i.Name || stat.Path != i.Path || stat.Size != i.Size || stat.Dir != i.Dir || !stat.ModTime.Equal(i.ModTime) {
			e.Errorf("listed as %+v, stat gives %+v", i, stat)
		}
		if i.Dir != (i.Name == "a") {
			e.Errorf("%s: directory %v", i.Name, i.Dir)
		}
	}
	if i := infos[3]; i.Size != 5 || time.Since(i.ModTime).Abs() > time.Hour {
		e.Errorf("b is %+v", i)
	}
}

func testRenameFile(e env) {
	e.write("a", []byte("a"))
	e.write("b", []byte("b"))
	e.must(e.st.Mkdir(e.ctx, e.path("d")))
	e.wantError(e.st.Rename(e.ctx, e.path("a"), e.path("b")), store.ErrExist)
	e.wantError(e.st.Rename(e.ctx, e.path("a"), e.path("d")), store.ErrExist)
	e.wantError(e.st.Rename(e.ctx, e.path("a"), e.path("a")), store.ErrExist)
	e.wantContent("a", []byte("a"))
	e.wantContent("b", []byte("b"))
	before, err := e.st.Stat(e.ctx, e.path("a"))
	e.must(err)
	e.must(e.st.Rename(e.ctx, e.path("a"), e.path("d/c")))
	e.wantNames("b", "d")
	e.wantContent("d/c", []byte("a"))
	after, err := e.st.Stat(e.ctx, e.path("d/c"))
	e.must(err)
	if after.FileID != before.FileID {
		e.Errorf("the number of the file changed from %d to %d", before.FileID, after.FileID)
	}
}

func testRenameDir(e env) {
	for _, d := range []string{"from", "empty", "full"} {
		e.must(e.st.Mkdir(e.ctx, e.path(d)))
	}
	e.write("from/f", []byte("f"))
	e.write("full/g", []byte("g"))
	e.write("file", nil)
	for _, to := range []string{"empty", "full", "file"} {
		e.wantError(e.st.Rename(e.ctx, e.path("from"), e.path(to)), store.ErrExist)
	}
	e.wantAbsent("empty/f")
	e.wantAbsent("empty/from")
	e.must(e.st.Rename(e.ctx, e.path("from"), e.path("to")))
	e.wantAbsent("from")
	e.wantContent("to/f", []byte("f"))
	e.wantContent("full/g", []byte("g"))
}

// race makes n calls at once. It requires that one succeeds and the others fail with
// ErrExist, and returns the index of the successful one.
func (e env) race(n int, call func(i int) error) int {
	e.Helper()
	var wg sync.WaitGroup
	var winner atomic.Int32
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			if errs[i] = call(i); errs[i] == nil {
				winner.Store(int32(i))
			}
		})
	}
	wg.Wait()
	winners := 0
	for _, err := range errs {
		if err == nil {
			winners++
		} else {
			e.wantError(err, store.ErrExist)
		}
	}
	if winners != 1 {
		e.Fatalf("%d winners: %v", winners, errs)
	}
	return int(winner.Load())
}

func testRenameRace(e env) {
	for i := range 8 {
		e.write(fmt.Sprint("f", i), []byte{byte(i)})
	}
	w := e.race(8, func(i int) error {
		return e.st.Rename(e.ctx, e.path(fmt.Sprint("f", i)), e.path("to"))
	})
	e.wantContent("to", []byte{byte(w)})
}

func testRemove(e env) {
	e.must(MkdirAll(e.ctx, e.st, e.path("d/e")))
	e.write("d/e/f", nil)
	if e.st.Remove(e.ctx, e.path("d")) == nil {
		e.Error("a directory with content was removed by Remove")
	}
	e.must(e.st.Remove(e.ctx, e.path("d/e/f")))
	e.must(e.st.Remove(e.ctx, e.path("d/e")))
	e.write("d/g", nil)
	e.must(e.st.RemoveAll(e.ctx, e.path("d")))
	e.wantNames()
	e.write("f", nil)
	e.must(e.st.RemoveAll(e.ctx, e.path("f")))
	e.wantNames()
}

func testMkdir(e env) {
	e.must(e.st.Mkdir(e.ctx, e.path("d")))
	info, err := e.st.Stat(e.ctx, e.path("d"))
	e.must(err)
	if !info.Dir {
		e.Errorf("made %+v", info)
	}
	e.must(e.st.Mkdir(e.ctx, e.path("d/e")))
	e.write("d/e/f", []byte("f"))
	for _, p := range []string{"d", "d/e", "d/e/f"} {
		e.wantError(e.st.Mkdir(e.ctx, e.path(p)), store.ErrExist)
	}
	e.wantError(e.st.Mkdir(e.ctx, e.path("no/d")), store.ErrNoParent)
	e.wantError(e.st.Mkdir(e.ctx, e.path("no/d/e")), store.ErrNoParent)
	e.wantAbsent("no")
	if err := e.st.Mkdir(e.ctx, e.path("d/e/f/g")); store.Classify(err) != store.Final {
		e.Errorf("make a directory below a file: %v", err)
	}
	e.wantContent("d/e/f", []byte("f"))
	e.wantNames("d")
	// A repeated call does not make a directory that was moved away.
	e.must(e.st.Rename(e.ctx, e.path("d"), e.path("moved")))
	e.wantError(e.st.Mkdir(e.ctx, e.path("d/e")), store.ErrNoParent)
	e.wantError(e.st.Mkdir(e.ctx, e.path("d/e/f")), store.ErrNoParent)
	e.wantNames("moved")
}

func testSmallFiles(e env) {
	e.must(e.st.WriteFile(e.ctx, e.path("f"), []byte("one"), true))
	e.wantError(e.st.WriteFile(e.ctx, e.path("f"), []byte("two"), true), store.ErrExist)
	e.wantContent("f", []byte("one"))
	e.must(e.st.WriteFile(e.ctx, e.path("f"), []byte("three"), false))
	e.wantContent("f", []byte("three"))
	e.must(e.st.WriteFile(e.ctx, e.path("g"), nil, false))
	e.wantContent("g", nil)
	_, err := e.st.ReadFile(e.ctx, e.path("f"), 4)
	e.wantError(err, store.ErrTooLarge)
	if _, err := e.st.ReadFile(e.ctx, e.path("f"), 5); err != nil {
		e.Error(err)
	}
	e.wantNames("f", "g")
}

func testExclusiveRace(e env) {
	w := e.race(8, func(i int) error {
		return e.st.WriteFile(e.ctx, e.path("lock"), []byte{byte(i)}, true)
	})
	e.wantContent("lock", []byte{byte(w)})
	e.wantNames("lock")
}

func testReplace(e env) {
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 100*(i+1)) }
	e.must(e.st.WriteFile(e.ctx, e.path("f"), content(0), false))
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range 20 {
			if err := e.st.WriteFile(e.ctx, e.path("f"), content(i), false); err != nil {
				e.Error(err)
			}
		}
	})
	for range 50 {
		data, err := e.st.ReadFile(e.ctx, e.path("f"), 1<<20)
		if err != nil {
			e.Error(err)
			break
		}
		if len(data) == 0 || !bytes.Equal(data, content(int(data[0]-'a'))) {
			e.Errorf("read a mixture: %q", data)
			break
		}
	}
	wg.Wait()
	e.wantContent("f", content(19))
}

func testContext(e env) {
	e.write("a", []byte("a"))
	ctx, cancel := context.WithCancel(e.ctx)
	w, err := e.st.Create(ctx, e.path("half"), store.CreateOptions{Size: 4})
	e.must(err)
	_, err = w.Write([]byte("ha"))
	e.must(err)
	cancel()
	_, err = w.Write([]byte("lf"))
	e.wantError(err, context.Canceled)
	e.wantError(w.Commit(e.ctx), context.Canceled)
	e.must(w.Abort())

	for op, call := range Calls(ctx, e.st, e.dir) {
		if err := call(); !errors.Is(err, context.Canceled) {
			e.Errorf("%s: %v", op, err)
		}
	}
	e.wantNames("a")
	e.wantContent("a", []byte("a"))
}

func testGlob(e env) {
	e.must(MkdirAll(e.ctx, e.st, e.path("2024/01")))
	e.must(MkdirAll(e.ctx, e.st, e.path("2025/01")))
	for _, f := range []string{"2024/01/a.avro", "2024/01/b.avro", "2024/01/.c.avro", "2025/01/a.avro", "2025/x", "a*b"} {
		e.write(f, nil)
	}
	tests := map[string][]string{
		"2024/01/*.avro":  {"2024/01/a.avro", "2024/01/b.avro"},
		"20*/01/a.avro":   {"2024/01/a.avro", "2025/01/a.avro"},
		"202[0-4]/*":      {"2024/01"},
		"*/0?/.*":         {"2024/01/.c.avro"},
		"2024/01/a.avro":  {"2024/01/a.avro"},
		`a\*b`:            {"a*b"},
		"no/*":            nil,
		"2025/x/*":        nil,
		"*/*/none-*.avro": nil,
	}
	for pattern, want := range tests {
		infos, err := store.Glob(e.ctx, e.st, e.path(pattern))
		e.must(err)
		var got []string
		for _, i := range infos {
			got = append(got, i.Path[len(e.dir)+1:])
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			e.Errorf("%s matches %q, want %q", pattern, got, want)
		}
	}
	if _, err := store.Glob(e.ctx, e.st, e.path("[")); err == nil {
		e.Error("a malformed pattern is accepted")
	}
}

// testChecksum tests the meaning of checksums on a store that has them.
func testChecksum(e env) {
	checksum := store.CapabilitiesOf(e.st).Checksum
	if checksum == nil {
		return
	}
	of := func(name string) string {
		e.Helper()
		sum, err := checksum(e.ctx, e.path(name))
		e.must(err)
		if algorithm, value, _ := strings.Cut(sum, ":"); algorithm == "" || value == "" {
			e.Fatalf("%q is not a checksum", sum)
		}
		return sum
	}
	data := bytes.Repeat([]byte("row to column "), 20_000)
	e.write("f", data)
	e.write("same", data)
	first := of("f")
	e.must(e.st.Rename(e.ctx, e.path("f"), e.path("renamed")))
	for _, name := range []string{"renamed", "same"} {
		if again := of(name); again != first {
			e.Errorf("%s: the same bytes have %s and %s", name, first, again)
		}
	}
	for i, at := range []int{0, len(data) / 2, len(data) - 1} {
		other := bytes.Clone(data)
		other[at] ^= 1
		name := fmt.Sprint("other", i)
		e.write(name, other)
		if sum := of(name); sum == first {
			e.Errorf("files that differ at %d have the same %s", at, sum)
		}
	}
	fails := func(ctx context.Context, name string, want error) {
		e.Helper()
		sum, err := checksum(ctx, e.path(name))
		e.wantError(err, want)
		if sum != "" {
			e.Errorf("%s: %s with an error", name, sum)
		}
	}
	fails(e.ctx, "f", store.ErrNotExist)
	fails(e.ctx, "", store.ErrNotRegular)
	ended, cancel := context.WithCancel(e.ctx)
	cancel()
	fails(ended, "same", context.Canceled)
}
