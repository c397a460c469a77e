package cluster

import (
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"sync"

	"github.com/rowtocol/rowtocol/store"
)

// readableByOthers are the permission bits that let users other than its owner read a
// file.
const readableByOthers = 0o044

// secretFiles reads files that hold secrets.
type secretFiles struct {
	exposed func(file string, mode fs.FileMode) // may be nil

	mu       sync.Mutex
	reported map[string]bool // exposed files for which exposed was called
}

func newSecretFiles(o LoginOptions) *secretFiles {
	return &secretFiles{exposed: o.Exposed, reported: map[string]bool{}}
}

// read returns the content of a file of secrets. It must be a regular file, because reading another
// kind of file may not end. If other users can read the file, read calls exposed once.
func (s *secretFiles) read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	//guard: rejects a pipe in place of a file
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: %w", path, store.ErrNotRegular)
	}
	s.check(path, info.Mode())
	return readFile(path)
}

func (s *secretFiles) check(path string, mode fs.FileMode) {
	// On Windows the bits do not say who may read.
	if mode&readableByOthers == 0 || s.exposed == nil || runtime.GOOS == "windows" {
		return
	}
	s.mu.Lock()
	reported := s.reported[path]
	s.reported[path] = true
	s.mu.Unlock()
	if !reported {
		s.exposed(path, mode)
	}
}
