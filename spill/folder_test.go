package spill

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
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
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make([]byte, 4096)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	dead := strings.TrimSpace(string(line[:n]))

	f, err := OpenFolder(parent)
	if err != nil {
		t.Fatal(err)
	}
	if files, err := filepath.Glob(filepath.Join(dead, "*", "0")); err != nil || len(files) != 1 {
		t.Errorf("the folder of a living process was touched: it has %v, %v", files, err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}

	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
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
		if err := os.Mkdir(filepath.Join(parent, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(parent, folderPrefix+"file"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(elsewhere, filepath.Join(parent, folderPrefix+"link")); err != nil {
		t.Fatal(err)
	}
	if err := sweep(parent); err != nil {
		t.Fatal(err)
	}
	if entries, _ := os.ReadDir(parent); len(entries) != 5 {
		t.Errorf("of 5 entries these remain: %v", entries)
	}
	if _, err := os.Stat(elsewhere); err != nil {
		t.Error(err)
	}
}

// A folder may be removed, and another made in its place, between opening and
// locking it.
func TestLockOfARemovedFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), folderPrefix+"x")
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := lockOpen(f, dir); !errors.Is(err, errTaken) {
		t.Errorf("removed: %v", err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
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
