package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

const holderParent = "ROWTOCOL_TEST_SPILL_PARENT"

// TestMain makes the test binary the process that dies if the environment names a
// parent directory: it makes a folder with a file there, prints its name and waits to
// be killed.
func TestMain(m *testing.M) {
	if parent := os.Getenv(holderParent); parent != "" {
		f, err := OpenFolder(parent)
		if err == nil {
			var s *Spill
			if s, err = f.New(1, Options{}); err == nil {
				err = s.Append(0, []byte("x"))
			}
		}
		if err != nil {
			os.Exit(1)
		}
		_, _ = os.Stdout.WriteString(f.Dir() + "\n")
		time.Sleep(time.Minute)
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

func TestSweepAfterKill(t *testing.T) {
	parent := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), holderParent+"="+parent)
	out, err := cmd.StdoutPipe()
	testenv.Must(t, err)
	testenv.Must(t, cmd.Start())
	line := make([]byte, 4096)
	n, err := out.Read(line)
	testenv.Must(t, err)
	dead := strings.TrimSpace(string(line[:n]))

	f, err := OpenFolder(parent)
	testenv.Must(t, err)
	if files, err := filepath.Glob(filepath.Join(dead, "*", "0")); err != nil || len(files) != 1 {
		t.Errorf("the folder of a running process was changed: it has %v, %v", files, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}

	testenv.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if _, err := os.Stat(dead); err != nil {
		t.Fatalf("there is no folder to sweep: %v", err)
	}
	if f, err = OpenFolder(parent); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dead); !os.IsNotExist(err) {
		t.Errorf("the folder of a dead process remains: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
}

func TestSweepLeavesOthersAlone(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	for _, dir := range []string{"data", "rowtocol", "rowtocol-spill"} {
		testenv.Must(t, os.Mkdir(filepath.Join(parent, dir), 0o777))
	}
	testenv.Must(t, os.WriteFile(filepath.Join(parent, folderPrefix+"file"), nil, 0o666))
	testenv.Must(t, os.Symlink(elsewhere, filepath.Join(parent, folderPrefix+"link")))
	if warnings, err := Sweep(parent); err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 5 {
		t.Errorf("got %d entries, want 5: %v", len(entries), entries)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}

// staleFolder makes a folder like that of a dead process, with spilled columns and keys.
func staleFolder(t *testing.T, parent string) (dir string) {
	t.Helper()
	dir = filepath.Join(parent, folderPrefix+"1")
	for _, name := range []string{"27/0", "27/10", "4/815"} {
		writeFile(t, filepath.Join(dir, name))
	}
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "5"), 0o777))
	return dir
}

func writeFile(t *testing.T, name string) {
	t.Helper()
	testenv.Must(t, os.MkdirAll(filepath.Dir(name), 0o777))
	testenv.Must(t, os.WriteFile(name, []byte("x"), 0o666))
}

// filesBelow returns the paths below a directory, without directories.
func filesBelow(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			p, err = filepath.Rel(dir, p)
			paths = append(paths, p)
		}
		return err
	})
	testenv.Must(t, err)
	return paths
}

// Files of other programs stay in the folder of a dead process. One warning names them.
func TestSweepKeepsForeignFiles(t *testing.T) {
	elsewhere := t.TempDir()
	writeFile(t, elsewhere+"/0")
	link := func(t *testing.T, name string) {
		testenv.Must(t, os.Symlink(elsewhere, name))
	}
	for name, put := range map[string]func(t *testing.T, name string){
		"notes.txt": writeFile, "27/notes": writeFile, "own/0": writeFile, "27/3/4": writeFile, "1e5": writeFile,
		"link": link, "7": link, "27/7": link,
		"8": func(t *testing.T, name string) {
			testenv.Must(t, unix.Mkfifo(name, 0o600))
		},
	} {
		parent := t.TempDir()
		dir := staleFolder(t, parent)
		put(t, filepath.Join(dir, name))
		shown := name
		if name == "own/0" || name == "27/3/4" {
			shown = filepath.Dir(name)
		}
		for i := range 2 {
			f, err := OpenFolder(parent)
			testenv.Must(t, err)
			w := f.Warnings()
			if i == 0 && (len(w) != 1 || !strings.Contains(w[0], "files in "+dir) || !strings.Contains(w[0], `["`+shown+`"];`)) || i == 1 && len(w) > 0 {
				t.Errorf("%s: sweep %d: warnings %q", name, i, w)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if left := filesBelow(t, parent); !slices.Equal(left, []string{folderPrefix + "1/" + name}) {
				t.Errorf("%s: left %q", name, left)
			}
		}
	}
	if left := filesBelow(t, elsewhere); len(left) != 1 {
		t.Errorf("a link was followed: %q", left)
	}
}

// If there are many files, a warning names only a few.
func TestWarningOfManyFiles(t *testing.T) {
	parent := t.TempDir()
	dir := staleFolder(t, parent)
	for i := range 8 {
		writeFile(t, fmt.Sprintf("%s/a%d", dir, i))
	}
	w, err := Sweep(parent)
	if err != nil || len(w) != 1 || !strings.Contains(w[0], " and 3 more;") || strings.Count(w[0], `"`) != 10 {
		t.Errorf("%q, %v", w, err)
	}
}

// At its end a process keeps files of other programs.
func TestCloseKeepsForeignFiles(t *testing.T) {
	parent := t.TempDir()
	for name, end := range map[string]func(*Folder){"Close": func(*Folder) {}, "Clear": func(*Folder) { Clear() }} {
		f, err := OpenFolder(parent)
		testenv.Must(t, err)
		writeFile(t, f.Dir()+"/27/0")
		writeFile(t, f.Dir()+"/"+name)
		end(f)
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		if left := filesBelow(t, f.Dir()); !slices.Equal(left, []string{name}) {
			t.Errorf("%s left %q", name, left)
		}
	}
}

// A link that replaces a locked folder is not followed.
func TestRemoveOfAReplacedFolder(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	writeFile(t, elsewhere+"/0")
	dir := staleFolder(t, parent)
	lock, err := lockDir(dir)
	testenv.Must(t, err)
	defer func() { _ = lock.Close() }()
	testenv.Must(t, os.Rename(dir, dir+"0"))
	testenv.Must(t, os.Symlink(elsewhere, dir))
	if _, err := removeFolder(dir, lock); !errors.Is(err, errTaken) || len(filesBelow(t, elsewhere)) != 1 {
		t.Errorf("%v, left %q", err, filesBelow(t, elsewhere))
	}
}

// A folder may be removed, and another made in its place, after it is opened and before
// it is locked.
func TestLockOfARemovedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), folderPrefix+"x")
	testenv.Must(t, os.Mkdir(dir, 0o777))
	f, err := os.Open(dir)
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	testenv.Must(t, os.Remove(dir))
	if err := lockOpen(f, dir); !errors.Is(err, errTaken) {
		t.Errorf("removed: %v", err)
	}
	testenv.Must(t, os.Mkdir(dir, 0o777))
	if err := lockOpen(f, dir); !errors.Is(err, errTaken) {
		t.Errorf("made again: %v", err)
	}
}

// Processes that make and sweep folders concurrently do not remove each other's folders.
func TestOpenFoldersAtOnce(t *testing.T) {
	parent := t.TempDir()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 20 {
				f, err := OpenFolder(parent)
				if err != nil {
					t.Error(err)
					return
				}
				s, err := f.New(1, Options{})
				if err == nil {
					err = s.Append(0, []byte("x"))
				}
				if err != nil {
					t.Error(err)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	if entries, _ := os.ReadDir(parent); len(entries) != 0 {
		t.Errorf("left %v", entries)
	}
}

func TestOpenFolderErrors(t *testing.T) {
	if _, err := OpenFolder(filepath.Join(t.TempDir(), "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing parent: %v", err)
	}
}
