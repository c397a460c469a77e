package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// faultySystem has files that cannot be closed or directories that cannot be synced.
type faultySystem struct {
	kernel
	closeErr, syncErr error
}

func (s faultySystem) create(name string) (file, error) {
	f, err := s.kernel.create(name)
	return faultyFile{f, s.closeErr}, err
}

func (s faultySystem) openDir(name string) (directory, error) {
	d, err := s.kernel.openDir(name)
	return faultyDir{d, s.syncErr}, err
}

type faultyFile struct {
	file
	closeErr error
}

func (f faultyFile) Close() error { return errors.Join(f.closeErr, f.file.Close()) }

type faultyDir struct {
	directory
	syncErr error
}

func (d faultyDir) Sync() error { return d.syncErr }

func TestCommitFindsFailedClose(t *testing.T) {
	w, err := local{faultySystem{closeErr: syscall.EDQUOT}}.Create(t.Context(), t.TempDir()+"/f", CreateOptions{Size: 1})
	testenv.Must(t, err)
	if _, err := io.WriteString(w, "x"); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(t.Context()); !errors.Is(err, syscall.EDQUOT) {
		t.Errorf("commit although close fails: %v", err)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
}

func TestDirectoriesWithoutSync(t *testing.T) {
	for syncErr, want := range map[error]error{syscall.EINVAL: nil, syscall.ENOTSUP: nil, syscall.EIO: syscall.EIO} {
		if err := syncDir(faultySystem{syncErr: syncErr}, t.TempDir()); !errors.Is(err, want) {
			t.Errorf("%v: %v, want %v", syncErr, err, want)
		}
	}
}

// busySystem makes the target directory just before each rename, as another process
// might.
type busySystem struct {
	kernel
	made bool
}

func (s *busySystem) rename(from, to string) error {
	s.made = os.Mkdir(to, 0o777) == nil
	return s.kernel.rename(from, to)
}

func TestRenameReplacesNoNewDirectory(t *testing.T) {
	dir, s := t.TempDir(), &busySystem{}
	testenv.Must(t, os.Mkdir(dir+"/a", 0o777))
	if err := (local{s}).renameWithoutFlag(dir+"/a", dir+"/b"); err != nil {
		t.Fatal(err)
	}
	if s.made {
		t.Error("the directory of another process was replaced")
	}
}

// linkless is a file system without links.
type linkless struct{ kernel }

func (linkless) link(string, string) error { return syscall.EPERM }

func TestRenameWithoutFlagAndLinks(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(dir+"/a", nil, 0o666))
	err := (local{linkless{}}).renameWithoutFlag(dir+"/a", dir+"/b")
	if Classify(err) != Final || !strings.Contains(err.Error(), "nor link") {
		t.Errorf("a rename that could replace a file: %v", err)
	}
	if _, err := os.Lstat(dir + "/a"); err != nil {
		t.Error(err)
	}
}

func TestWriterKeepsFirstError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	defer func() { _ = full.Close() }()
	up := &localUpload{f: full}
	w := &localWriter{writer{ctx: t.Context(), path: "f", size: -1, upload: up}, up}
	_, first := w.Write([]byte("x"))
	if !errors.Is(first, syscall.ENOSPC) || Classify(first) != Retryable {
		t.Fatalf("write to a full device: %v", first)
	}
	if _, err := w.ReadFrom(strings.NewReader("x")); !errors.Is(err, first) {
		t.Errorf("read from: %v", err)
	}
}

func TestCreateReservesSpace(t *testing.T) {
	st, dir := Local(), t.TempDir()
	_, err := st.Create(t.Context(), filepath.Join(dir, "f"), CreateOptions{Size: 1 << 50})
	if err == nil {
		testenv.Skip(t, "the file system does not reserve space")
	}
	if c := Classify(err); c != Retryable && !errors.Is(err, syscall.EFBIG) {
		t.Errorf("a petabyte: %v, class %v", err, c)
	}
	if errors.Is(err, syscall.ENOSPC) && !regexp.MustCompile(`^reserve \S+: [0-9.]+ MiB are free, and 1073741824.00 MiB are needed: `).MatchString(err.Error()) {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

func TestKernelCopy(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.WriteFile(dir+"/src", []byte("0123456789"), 0o666))
	src, err := os.Open(dir + "/src")
	testenv.Must(t, err)
	defer func() { _ = src.Close() }()
	w, err := Local().Create(t.Context(), dir+"/dst", CreateOptions{Size: 4})
	testenv.Must(t, err)
	if _, err := src.Seek(3, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(w, io.LimitReader(src, 4)); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, w.Commit(t.Context()))
	if got, _ := os.ReadFile(dir + "/dst"); string(got) != "3456" {
		t.Errorf("copied %q", got)
	}
}

func TestCommitFindsShortFile(t *testing.T) {
	name := t.TempDir() + "/f"
	w, err := Local().Create(t.Context(), name, CreateOptions{Size: 10})
	testenv.Must(t, err)
	if _, err := io.WriteString(w, "0123456789"); err != nil {
		t.Fatal(err)
	}
	testenv.Must(t, os.Truncate(name, 4))
	if err := w.Commit(t.Context()); !errors.Is(err, ErrMismatch) {
		t.Errorf("commit of a file that was cut short: %v", err)
	}
}

// fixedFile returns the same data and error from each read.
type fixedFile struct {
	size int64
	data string
	err  error
}

func (f fixedFile) ReadAt(p []byte, _ int64) (int, error) { return copy(p, f.data), f.err }
func (f fixedFile) Close() error                          { return nil }
func (f fixedFile) Size() int64                           { return f.size }
func (f fixedFile) Name() string                          { return "f" }

func TestReadWhole(t *testing.T) {
	for name, tt := range map[string]struct {
		file fixedFile
		want error
	}{
		"complete":          {fixedFile{5, "hello", io.EOF}, nil},
		"too long":          {fixedFile{11, "hello world", nil}, ErrTooLarge},
		"on a failing disk": {fixedFile{5, "hel", syscall.EIO}, syscall.EIO},
		"cut short":         {fixedFile{5, "hel", io.EOF}, ErrUnavailable},
	} {
		if data, err := ReadWhole(tt.file, nil, 10); !errors.Is(err, tt.want) || (err == nil) != (string(data) == "hello") {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// TestLocalIsComparable checks that a store can be a map key, because callers use it as one.
func TestLocalIsComparable(t *testing.T) {
	if kinds := map[Store]bool{Local(): true}; !kinds[Local()] {
		t.Error("two local stores differ")
	}
}

func TestLinks(t *testing.T) {
	dir := t.TempDir()
	err := errors.Join(os.Mkdir(dir+"/dir", 0o777), os.WriteFile(dir+"/file", []byte("12345"), 0o666),
		os.Symlink("nowhere", dir+"/dangling"), os.Symlink("dir", dir+"/to dir"), os.Symlink("file", dir+"/to file"))
	testenv.Must(t, err)
	infos, err := Local().List(t.Context(), dir)
	testenv.Must(t, err)
	// A dangling link is listed, and opening it fails.
	var got []string
	for _, i := range infos {
		got = append(got, fmt.Sprintf("%s %d %v %v", i.Name, i.Size, i.Dir, i.Link))
		stat, err := Local().Stat(t.Context(), i.Path)
		if i.Name == "dangling" {
			if !errors.Is(err, ErrNotExist) {
				t.Errorf("a dangling link is %+v, %v", stat, err)
			}
		} else if err != nil || stat != i {
			t.Errorf("listed as %+v, stat gives %+v, %v", i, stat, err)
		}
	}
	want := []string{"dangling 7 false true", "dir 0 true false", "file 5 false false", "to dir 0 true true", "to file 5 false true"}
	if !slices.Equal(got, want) {
		t.Errorf("listed %q, want %q", got, want)
	}
}

func TestOpenNamedPipe(t *testing.T) {
	p := t.TempDir() + "/pipe"
	if err := syscall.Mkfifo(p, 0o666); err != nil {
		testenv.Skip(t, err.Error())
	}
	if _, err := Local().Open(t.Context(), p); !errors.Is(err, ErrNotRegular) {
		t.Errorf("open: %v", err)
	}
}

func TestRefusedByFileSystem(t *testing.T) {
	for _, p := range []string{"/proc/rowtocol", "/sys/rowtocol"} {
		_, err := Local().Create(t.Context(), p, CreateOptions{Size: 1})
		if err == nil {
			t.Fatalf("created %s", p)
		}
		if c := Classify(err); c != Final {
			t.Errorf("%v: class %v", err, c)
		}
	}
	_, err := Local().Create(t.Context(), t.TempDir()+"/"+strings.Repeat("n", 300), CreateOptions{})
	if Classify(err) != Final {
		t.Errorf("long name: %v", err)
	}
}

func TestClassify(t *testing.T) {
	errno := func(e syscall.Errno) error {
		return fmt.Errorf("task 3: %w", &fs.PathError{Op: "write", Path: "p", Err: e})
	}
	tests := []struct {
		err  error
		want Class
	}{
		{nil, Unknown},
		{errors.New("other"), Unknown},
		{context.Canceled, Unknown},
		{fmt.Errorf("x: %w", context.DeadlineExceeded), Retryable},
		{os.ErrDeadlineExceeded, Retryable},
		{&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, Retryable},
		{&net.DNSError{IsTimeout: true}, Retryable},
		{fmt.Errorf("%w: ack error", ErrUnavailable), Retryable},
		{fmt.Errorf("%w: %w", ErrUnavailable, context.Canceled), Unknown},
		{fmt.Errorf("/a: %w", ErrQuota), Final},
		{errno(syscall.ENOSPC), Retryable},
		{errno(syscall.EIO), Retryable},
		{errno(syscall.EMFILE), Retryable},
		{errno(syscall.ENFILE), Retryable},
		{errno(syscall.ETIMEDOUT), Retryable},
		{errno(syscall.EAGAIN), Retryable},
		{errno(syscall.ENOMEM), Retryable},
		{errno(syscall.ESTALE), Retryable},
		{io.ErrShortWrite, Retryable},
		{ErrMismatch, Retryable},
		{errno(syscall.EACCES), Final},
		{errno(syscall.EPERM), Final},
		{errno(syscall.EROFS), Final},
		{errno(syscall.EDQUOT), Final},
		{errno(syscall.ENOTDIR), Final},
		{errno(syscall.ENAMETOOLONG), Final},
		{fs.ErrPermission, Final},
		{ErrNoParent, Final},
		{ErrTooLarge, Final},
		{errno(syscall.ENOENT), NotFound},
		{errno(syscall.EEXIST), Exists},
		{fmt.Errorf("x %w", ErrScheme), Unsupported},
	}
	for _, tt := range tests {
		if got := Classify(tt.err); got != tt.want {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.want)
		}
	}
}

func TestResolve(t *testing.T) {
	for location, want := range map[string]string{
		"a/b":                 "a/b",
		"a//b/":               "a/b",
		"/a/../b":             "/b",
		"file:///a/b%20c":     "/a/b%20c",
		"file://localhost/a":  "/a",
		"FILE:///a":           "/a",
		"file:/a":             "/a",
		"dt=2024-01-01T00:00": "dt=2024-01-01T00:00",
	} {
		got, err := Resolve(location)
		if err != nil || got.Path != want || got.Origin != "" {
			t.Errorf("%s is %q, %v; want %q", location, got, err, want)
		}
	}
	for _, location := range []string{"hdfs://nn:8020/a", "s3://b/k", "file://host/a", "file://"} {
		if _, err := Resolve(location); Classify(err) != Unsupported {
			t.Errorf("%s: %v", location, err)
		}
	}
	if _, err := Resolve(""); err == nil {
		t.Error("an empty location is accepted")
	}
}

func TestTempName(t *testing.T) {
	for _, p := range []string{"part-00001.trv", "/d/e/_SUCCESS", "x/.hidden"} {
		temp := TempName(p)
		if filepath.Dir(temp) != filepath.Dir(p) || !IsTemp(filepath.Base(temp)) || temp == TempName(p) {
			t.Errorf("the temporary name of %s is %s", p, temp)
		}
	}
	for _, name := range []string{"part-00001.trv", "_lock", ".rowtocol", ".x.tmp", "x.0123456789abcdef.tmp"} {
		if IsTemp(name) {
			t.Errorf("%s is accepted as temporary", name)
		}
	}
}
