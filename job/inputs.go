package job

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/store"
)

// identityTail is the number of bytes at the end of an input that its identity
// covers.
const identityTail = 64 << 10

// headerReaders is the number of inputs whose headers are read at a time. It
// hides the latency of remote storage and is not a matter of processors.
const headerReaders = 8

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// inputFile is a file to convert.
type inputFile struct {
	name  string // its location
	named bool   // by the user, and not found in a directory or by a pattern
}

// expandInputs returns the files that the arguments name, each once, sorted by
// location, so that the order of arguments does not matter. A directory stands
// for the .avro files in it and below it, except for what is hidden or starts
// with an underscore; a file named itself or by a pattern is taken as it is.
func (r *Request) expandInputs(ctx context.Context, dest store.Location) ([]inputFile, error) {
	if len(r.Inputs) == 0 {
		return nil, failf(ErrUsage, "no input named")
	}
	var files []inputFile
	for _, arg := range r.Inputs {
		in, err := r.resolve(arg)
		if err != nil {
			return nil, err
		}
		found, err := match(ctx, in.Store, in.Path)
		if err != nil {
			return nil, inputError(arg, err)
		}
		var paths []string
		for _, info := range found {
			if err := disjoint(in, info, dest); err != nil {
				return nil, err
			}
			if !info.Dir {
				paths = append(paths, info.Path)
			} else if paths, err = walk(ctx, in.Store, info.Path, paths); err != nil {
				return nil, inputError(arg, err)
			}
		}
		for _, p := range paths {
			files = append(files, inputFile{name: in.Origin + p, named: p == in.Path})
		}
	}
	slices.SortFunc(files, func(a, b inputFile) int {
		if a.name == b.name && a.named != b.named {
			if a.named {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return slices.CompactFunc(files, func(a, b inputFile) bool { return a.name == b.name }), nil
}

// match returns the file or directory p, or else what the pattern p matches.
func match(ctx context.Context, st store.Store, p string) ([]store.Info, error) {
	info, err := st.Stat(ctx, p)
	if err == nil || !errors.Is(err, store.ErrNotExist) || !store.IsPattern(p) {
		return []store.Info{info}, err
	}
	found, err := store.Glob(ctx, st, p)
	if errors.Is(err, path.ErrBadPattern) {
		return nil, wrap(ErrUsage, err)
	}
	if err == nil && len(found) == 0 {
		return nil, failf(ErrInput, "no file matches the pattern")
	}
	return found, err
}

// walk appends the .avro files below dir to files.
func walk(ctx context.Context, st store.Store, dir string, files []string) ([]string, error) {
	infos, err := st.List(ctx, dir)
	if err != nil {
		return nil, err
	}
	for _, info := range infos {
		switch {
		case store.Hidden(info.Name):
		case info.Dir:
			if files, err = walk(ctx, st, info.Path, files); err != nil {
				return nil, err
			}
		case strings.HasSuffix(info.Name, ".avro"):
			files = append(files, info.Path)
		}
	}
	return files, nil
}

// disjoint refuses a destination in an input directory, where the next run
// would read what this one leaves, and an input in the destination.
func disjoint(in store.Location, info store.Info, dest store.Location) error {
	switch {
	case in.Origin != dest.Origin:
		return nil
	case info.Dir && within(dest.Path, info.Path):
		return failf(ErrUsage, "destination %s is inside of the input directory %s", dest.Path, info.Path)
	case within(info.Path, dest.Path):
		return failf(ErrUsage, "input %s is inside of the destination %s", info.Path, dest.Path)
	}
	return nil
}

// within reports whether p is dir or below it.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}

// inputError names the input, and makes absence the input's fault.
func inputError(name string, err error) error {
	if errors.Is(err, store.ErrNotExist) {
		return failf(ErrInput, "input %s does not exist", name)
	}
	if errors.Is(err, store.ErrNotRegular) || errors.Is(err, store.ErrBeingWritten) {
		return wrap(ErrInput, fmt.Errorf("input %s: %w", name, err))
	}
	return fmt.Errorf("input %s: %w", name, err)
}

// openInput opens an input of a plan. The caller closes the file.
func (r *Request) openInput(ctx context.Context, name string) (store.File, error) {
	in, err := r.resolve(name)
	if err != nil {
		return nil, err
	}
	f, err := in.Store.Open(ctx, in.Path)
	if err != nil {
		return nil, inputError(name, err)
	}
	return f, nil
}

// readHeader opens an input, reads its header and describes it.
func (r *Request) readHeader(ctx context.Context, name string) (manifest.Input, *ocf.Header, error) {
	f, err := r.openInput(ctx, name)
	if err != nil {
		return manifest.Input{}, nil, err
	}
	defer func() { _ = f.Close() }()
	h, err := ocf.ReadHeader(f, f.Size(), name)
	if err != nil {
		return manifest.Input{}, nil, err
	}
	in := manifest.Input{Path: name, Size: f.Size(), HeaderSize: h.Size}
	in.Identity, err = identity(f, in)
	if err != nil {
		return manifest.Input{}, nil, fmt.Errorf("input %s: %w", name, err)
	}
	return in, h, nil
}

// identityBuffers are for reading the ends of inputs, of which there may be very
// many.
var identityBuffers = sync.Pool{New: func() any { return new([identityTail / 4]byte) }}

// identity returns the CRC-32C of the header and the last bytes of an input.
func identity(f io.ReaderAt, in manifest.Input) (uint32, error) {
	buf := identityBuffers.Get().(*[identityTail / 4]byte)
	defer identityBuffers.Put(buf)
	h := crc32.New(castagnoli)
	tail := max(in.Size-identityTail, 0)
	for _, part := range []*io.SectionReader{
		io.NewSectionReader(f, 0, in.HeaderSize),
		io.NewSectionReader(f, tail, in.Size-tail),
	} {
		n, err := io.CopyBuffer(h, part, buf[:])
		if err != nil {
			return 0, err
		}
		if n != part.Size() {
			return 0, io.ErrUnexpectedEOF
		}
	}
	return h.Sum32(), nil
}

// checkIdentity finds out whether the inputs are still those of the plan.
func (r *Request) checkIdentity(ctx context.Context, inputs []manifest.Input) error {
	return forEach(ctx, len(inputs), headerReaders, func(ctx context.Context, i int) error {
		want := inputs[i]
		f, err := r.openInput(ctx, want.Path)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		if f.Size() != want.Size {
			return failf(ErrInput, "input %s changed during the job: it had %d bytes and has %d", want.Path, want.Size, f.Size())
		}
		got, err := identity(f, want)
		if err != nil {
			return fmt.Errorf("input %s: %w", want.Path, err)
		}
		if got != want.Identity {
			return failf(ErrInput, "input %s changed during the job: its identity was %08x and is %08x", want.Path, want.Identity, got)
		}
		return nil
	})
}

// forEach calls fn for 0 to n-1, at most limit at a time and in order, until
// one fails; then it cancels the others. It returns the error of the lowest
// number that did not just hear of the cancellation.
func forEach(ctx context.Context, n, limit int, fn func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu       sync.Mutex
		next     int
		firstAt  = n
		firstErr error
		wg       sync.WaitGroup
	)
	take := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == n || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	fail := func(i int, err error) {
		mu.Lock()
		defer mu.Unlock()
		cancelled := ctx.Err() != nil && errors.Is(err, context.Canceled)
		if i < firstAt && !cancelled || firstErr == nil {
			firstAt, firstErr = i, err
		}
		cancel()
	}
	for range min(limit, n) {
		wg.Go(func() {
			for {
				i, ok := take()
				if !ok {
					return
				}
				if err := fn(ctx, i); err != nil {
					fail(i, err)
				}
			}
		})
	}
	wg.Wait()
	if firstErr == nil {
		return context.Cause(ctx)
	}
	return firstErr
}
