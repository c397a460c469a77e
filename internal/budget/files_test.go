package budget

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// testFile is a File that holds its number, and counts the open files.
type testFile struct {
	File
	files        *Files
	number       int
	opens, count *atomic.Int64
	fails        error
}

type openTestFile struct {
	number int
	closed atomic.Bool
	count  *atomic.Int64
}

func (o *openTestFile) Close() error {
	o.closed.Store(true)
	o.count.Add(-1)
	return nil
}

func newTestFiles(n, limit int) []*testFile {
	among, opens, count := NewFiles(limit), new(atomic.Int64), new(atomic.Int64)
	all := make([]*testFile, n)
	for i := range all {
		all[i] = &testFile{files: among, number: i, opens: opens, count: count}
	}
	return all
}

func (f *testFile) open() (io.Closer, error) {
	if f.fails != nil {
		return nil, f.fails
	}
	f.opens.Add(1)
	f.count.Add(1)
	return &openTestFile{number: f.number, count: f.count}, nil
}

// use uses the file once, and checks that it stays open.
func (f *testFile) use(t *testing.T) {
	t.Helper()
	stored, err := f.files.Acquire(&f.File, f.open)
	if err != nil {
		t.Errorf("file %d: %v", f.number, err)
		return
	}
	defer f.files.Release(&f.File)
	if o := stored.(*openTestFile); o.number != f.number || o.closed.Load() {
		t.Errorf("got file %d, closed %t, want open file %d", o.number, o.closed.Load(), f.number)
	}
}

func TestFilesCloseTheOldest(t *testing.T) {
	files := newTestFiles(5, 3)
	for _, step := range []struct {
		file  int
		opens int64
	}{
		{0, 1}, {1, 2}, {2, 3}, {0, 3}, // all have room
		{3, 4}, {0, 4}, {2, 4}, // file 3 replaces 1
		{1, 5}, {0, 5}, // file 1 replaces 3
	} {
		if files[step.file].use(t); files[0].opens.Load() != step.opens || files[0].count.Load() > 3 {
			t.Errorf("%+v: %d were opened, %d are open", step, files[0].opens.Load(), files[0].count.Load())
		}
	}
	for _, f := range files {
		f.files.Close(&f.File)
		if _, err := f.files.Acquire(&f.File, f.open); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("use after Close: got error %v", err)
		}
	}
	if n := files[0].count.Load(); n != 0 || files[0].files.open != 0 || files[0].files.used.Len() != 0 {
		t.Errorf("%d files are open, %d are counted", n, files[0].files.open)
	}
}

// A file that cannot be opened does not count as open, and is not tried again.
func TestFilesThatFail(t *testing.T) {
	files := newTestFiles(2, 1)
	files[0].use(t)
	files[1].fails = fs.ErrPermission
	for range 2 {
		if _, err := files[1].files.Acquire(&files[1].File, files[1].open); !errors.Is(err, fs.ErrPermission) {
			t.Error(err)
		}
		files[1].fails = nil
	}
	if files[0].use(t); files[0].count.Load() != 1 || files[0].files.open != 1 {
		t.Errorf("%d files are open, %d are counted", files[0].count.Load(), files[0].files.open)
	}
}

// Files stay open while they are used, and surplus ones are closed afterwards.
func TestConcurrentFiles(t *testing.T) {
	const limit, users = 4, 16
	files := newTestFiles(50, limit)
	var all sync.WaitGroup
	for r := range users {
		all.Go(func() {
			for i := range 500 {
				files[(i*(r%3+1)+r*7)%len(files)].use(t)
				if n := files[0].count.Load(); n > limit+users {
					t.Errorf("%d files are open", n)
				}
			}
		})
	}
	all.Wait()
	if n := files[0].count.Load(); n > limit || n != int64(files[0].files.open) {
		t.Errorf("%d files are open, %d are counted", n, files[0].files.open)
	}
	for _, f := range files {
		all.Go(func() { f.files.Close(&f.File) })
		all.Go(func() {
			if _, err := f.files.Acquire(&f.File, f.open); err == nil {
				f.files.Release(&f.File)
			}
		})
	}
	all.Wait()
	if n := files[0].count.Load(); n != 0 || files[0].files.open != 0 {
		t.Errorf("%d files are open at the end, %d are counted", n, files[0].files.open)
	}
}

// If the limit is too high, running out of descriptors closes files, too.
func TestOutOfDescriptors(t *testing.T) {
	files, open := NewFiles(1<<20), func() (io.Closer, error) { return os.Open(os.DevNull) }
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		testenv.Skip(t, err.Error())
	}
	low := old
	low.Cur = 100
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &low); err != nil {
		testenv.Skip(t, err.Error())
	}
	defer func() { _ = unix.Setrlimit(unix.RLIMIT_NOFILE, &old) }()
	if n := fileLimit(); n != 50 || InputFiles() != 12 {
		t.Errorf("with 100 descriptors: got limit %d, %d of it for inputs", n, InputFiles())
	}
	all := make([]File, 200)
	for i := range all {
		if _, err := files.Acquire(&all[i], open); err != nil {
			t.Fatal(err)
		}
		files.Release(&all[i])
	}
	for i := range all {
		files.Close(&all[i])
	}
}
