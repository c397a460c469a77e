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

// TestMain lets the test binary be the process that dies: with a parent
// directory in the environment it makes a folder with a file, says so and waits
// to be killed.
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
		t.Errorf("the folder of a living process was touched: it has %v, %v", files, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}

	testenv.Must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if _, err := os.Stat(dead); err != nil {
		t.Fatalf("nothing is left to sweep: %v", err)
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
	if warnings, err := sweep(parent); err != nil || len(warnings) > 0 {
		t.Fatal(warnings, err)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 5 {
		t.Errorf("of 5 entries these remain: %v", entries)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}

// staleFolder makes a folder as a dead process leaves it, with spilled columns and keys.
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

// tree are the paths below a directory of all that is no directory.
func tree(t *testing.T, dir string) (paths []string) {
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

// What is not of this program stays in the folder of a dead process, and is named once.
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
				t.Errorf("%s: look %d: %q", name, i, w)
			}
			if err := f.Close(); err != nil {
				t.Error(err)
			}
			if left := tree(t, parent); !slices.Equal(left, []string{folderPrefix + "1/" + name}) {
				t.Errorf("%s: left %q", name, left)
			}
		}
	}
	if left := tree(t, elsewhere); len(left) != 1 {
		t.Errorf("a link was followed: %q", left)
	}
}

// A warning names few of many files.
func TestWarningOfManyFiles(t *testing.T) {
	parent := t.TempDir()
	dir := staleFolder(t, parent)
	for i := range 8 {
		writeFile(t, fmt.Sprintf("%s/a%d", dir, i))
	}
	w, err := sweep(parent)
	if err != nil || len(w) != 1 || !strings.Contains(w[0], " and 3 more;") || strings.Count(w[0], `"`) != 10 {
		t.Errorf("%q, %v", w, err)
	}
}

// The end of a process keeps what is not of the program.
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
		if left := tree(t, f.Dir()); !slices.Equal(left, []string{name}) {
			t.Errorf("%s left %q", name, left)
		}
	}
}

// A link that comes in the place of a locked folder is not followed.
func TestRemoveOfAReplacedFolder(t *testing.T) {
	parent, elsewhere := t.TempDir(), t.TempDir()
	writeFile(t, elsewhere+"/0")
	dir := staleFolder(t, parent)
	lock, err := lockDir(dir)
	testenv.Must(t, err)
	defer func() { _ = lock.Close() }()
	testenv.Must(t, os.Rename(dir, dir+"0"))
	testenv.Must(t, os.Symlink(elsewhere, dir))
	if _, err := removeFolder(dir, lock); !errors.Is(err, errTaken) || len(tree(t, elsewhere)) != 1 {
		t.Errorf("%v, left %q", err, tree(t, elsewhere))
	}
}

// A folder may be removed, and another made in its place, between opening and
// locking it.
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

// Folders that are made and swept at once must not take each other for dead.
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
		t.Errorf("in no directory: %v", err)
	}
}
