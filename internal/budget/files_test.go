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

// numbered is a file of Files that holds its number, and counts the open ones.
type numbered struct {
	File
	among        *Files
	number       int
	opens, count *atomic.Int64
	fails        error
}

type opened struct {
	number int
	closed atomic.Bool
	count  *atomic.Int64
}

func (o *opened) Close() error {
	o.closed.Store(true)
	o.count.Add(-1)
	return nil
}

func newNumbered(n, limit int) []*numbered {
	among, opens, count := NewFiles(limit), new(atomic.Int64), new(atomic.Int64)
	all := make([]*numbered, n)
	for i := range all {
		all[i] = &numbered{among: among, number: i, opens: opens, count: count}
	}
	return all
}

func (f *numbered) open() (io.Closer, error) {
	if f.fails != nil {
		return nil, f.fails
	}
	f.opens.Add(1)
	f.count.Add(1)
	return &opened{number: f.number, count: f.count}, nil
}

// use is one use of the file, during which it must stay open.
func (f *numbered) use(t *testing.T) {
	t.Helper()
	stored, err := f.among.Acquire(&f.File, f.open)
	if err != nil {
		t.Errorf("file %d: %v", f.number, err)
		return
	}
	defer f.among.Release(&f.File)
	if o := stored.(*opened); o.number != f.number || o.closed.Load() {
		t.Errorf("file %d, closed %t, instead of file %d", o.number, o.closed.Load(), f.number)
	}
}

func TestFilesCloseTheOldest(t *testing.T) {
	files := newNumbered(5, 3)
	for _, step := range []struct {
		file  int
		opens int64
	}{
		{0, 1}, {1, 2}, {2, 3}, {0, 3}, // all have room
		{3, 4}, {0, 4}, {2, 4}, // in place of 1
		{1, 5}, {0, 5}, // in place of 3
	} {
		if files[step.file].use(t); files[0].opens.Load() != step.opens || files[0].count.Load() > 3 {
			t.Errorf("%+v: opened %d, of which %d are open", step, files[0].opens.Load(), files[0].count.Load())
		}
	}
	for _, f := range files {
		f.among.Close(&f.File)
		if _, err := f.among.Acquire(&f.File, f.open); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a use after the end: %v", err)
		}
	}
	if n := files[0].count.Load(); n != 0 || files[0].among.open != 0 || files[0].among.used.Len() != 0 {
		t.Errorf("%d files are open, %d are counted", n, files[0].among.open)
	}
}

// A file that cannot be opened takes no room, and is not tried again.
func TestFilesThatFail(t *testing.T) {
	files := newNumbered(2, 1)
	files[0].use(t)
	files[1].fails = fs.ErrPermission
	for range 2 {
		if _, err := files[1].among.Acquire(&files[1].File, files[1].open); !errors.Is(err, fs.ErrPermission) {
			t.Error(err)
		}
		files[1].fails = nil
	}
	if files[0].use(t); files[0].count.Load() != 1 || files[0].among.open != 1 {
		t.Errorf("%d files are open, %d are counted", files[0].count.Load(), files[0].among.open)
	}
}

// Files that are used stay open, and are closed when they no longer are.
func TestFilesTogether(t *testing.T) {
	const limit, users = 4, 16
	files := newNumbered(50, limit)
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
	if n := files[0].count.Load(); n > limit || n != int64(files[0].among.open) {
		t.Errorf("%d files are open, %d are counted", n, files[0].among.open)
	}
	for _, f := range files {
		all.Go(func() { f.among.Close(&f.File) })
		all.Go(func() {
			if _, err := f.among.Acquire(&f.File, f.open); err == nil {
				f.among.Release(&f.File)
			}
		})
	}
	all.Wait()
	if n := files[0].count.Load(); n != 0 || files[0].among.open != 0 {
		t.Errorf("%d files are open at the end, %d are counted", n, files[0].among.open)
	}
}

// With a limit that does not fit, running out of descriptors closes files too.
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
		t.Errorf("of 100 files %d are used, %d of them for inputs", n, InputFiles())
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
