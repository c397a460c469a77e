package job

import (
	"os"
	"path"
	"runtime"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// DefaultMemory is the memory budget of a request that names none, in bytes.
const DefaultMemory = 512 << 20

// Request is a conversion to plan or to run.
type Request struct {
	// Inputs are files, directories and glob patterns, on any store.
	Inputs []string
	// Dest is the directory to fill. Its parent must exist.
	Dest string
	// Options shape the output. The zero BlockSize lets the plan choose; a
	// larger one than the memory allows is lowered, with a warning.
	Options manifest.Options
	// Schema is the JSON of a reader's Avro schema, to which the rows of inputs
	// with other schemas are resolved; empty if all inputs must have one.
	Schema string
	// NewFormat returns the format of the given options, which are the plan's.
	NewFormat func(manifest.Options) (format.Format, error)
	// Overwrite allows to replace an earlier output of rowtocol.
	Overwrite bool
	// Workers is the number of goroutines that work at the same time; 0 is
	// GOMAXPROCS. It does not shape the output.
	Workers int
	// Memory is the budget in bytes; 0 is DefaultMemory.
	Memory int64
	// TempDir is the local directory for spills; empty is the system's.
	TempDir string
	// Progress, if set, is told of progress, by one goroutine at a time.
	Progress func(Progress)
	// Resolve finds the store of a location; nil is store.Resolve, which knows
	// local disks only.
	Resolve Resolve
	// Lock are the times of the lock; zero fields take the defaults.
	Lock LockTimes
}

// Progress is how far a job is.
type Progress struct {
	Rows       int64 // rows of the tasks that this run works on, so far
	Bytes      int64 // input bytes done, those of resumed tasks included
	TotalBytes int64 // input bytes of the plan
	Tasks      int   // tasks done, resumed ones included
	TotalTasks int
}

// Outcome is what a job came to.
type Outcome struct {
	Plan     *manifest.Plan
	Manifest *manifest.Success
	Nothing  bool // the destination already held this output
	Resumed  int  // tasks that an earlier run had finished
	Warnings []string
}

// Resolve finds the store of a location and its path there.
type Resolve func(location string) (store.Location, error)

// resolve returns the place of a location. Its path is absolute, because plans
// travel and a rerun may start in another directory.
func (r *Request) resolve(location string) (store.Location, error) {
	find := r.Resolve
	if find == nil {
		find = store.Resolve
	}
	l, err := find(location)
	if err != nil {
		if c := store.Classify(err); c == store.Retryable || c == store.Final {
			return l, err
		}
		return l, wrap(ErrUsage, err)
	}
	if l.Origin == "" && !path.IsAbs(l.Path) {
		wd, err := os.Getwd()
		if err != nil {
			return l, wrap(ErrStorage, err)
		}
		l.Path = path.Join(wd, l.Path)
	}
	return l, nil
}

func (r *Request) memory() int64 {
	if r.Memory > 0 {
		return r.Memory
	}
	return DefaultMemory
}

// blockMemory is the most bytes that an input block may decompress to, or one of
// its rows be resolved to. A single value can fill it, and is then there three
// times: in the block or the resolved row, in its column and encoded.
func (r *Request) blockMemory() int64 { return r.memory() / 3 }

func (r *Request) workers() int {
	if r.Workers > 0 {
		return r.Workers
	}
	return runtime.GOMAXPROCS(0)
}

func (r *Request) tempDir() string {
	if r.TempDir != "" {
		return r.TempDir
	}
	return os.TempDir()
}
