package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	firstWait = 200 * time.Millisecond
	maxWait   = 15 * time.Second
	// cleanupTime bounds the removal of unfinished output, so that a program that was
	// told to stop does so even if the storage hangs.
	cleanupTime = 30 * time.Second
	// stoppedTime is the bound once the program was told to stop.
	stoppedTime = 3 * time.Second
)

// Patience configures how long retryable failures are retried. For example, a name node
// offers a dead data node for minutes.
type Patience struct {
	// Limit is the time from an operation's first failure to its last try.
	Limit time.Duration
	// Waiting, if set, is called before each wait. It may be called concurrently.
	Waiting func(what string, err error, wait time.Duration)
	// Sleep waits for d or until ctx ends, and then returns its error. It is nil except
	// in tests, which do not wait; the time that they skip counts.
	Sleep func(ctx context.Context, d time.Duration) error
}

// WithRetry returns a store that retries operations of st, except Mkdir, and reads of
// its files while their error is Retryable. It does not retry a Writer, because half a
// file cannot be written again: see Retry.
//
// An operation whose answer was lost may have succeeded. A repeated Rename or exclusive
// WriteFile detects that by the file's number or content, so that it recognizes its own
// work.
func WithRetry(st Store, patience Patience) Store {
	p := &patient{inner: st, patience: patience}
	p.Store = Intercept(st, p.retryCall)
	return p
}

// Retry calls do until it succeeds, fails for good, or st's patience ends; a store
// without patience has one try. It is for uploads: do repeats them from the start under
// another name.
//
// The operations that do makes with its context share the patience of the whole call,
// which counts from the first failure, theirs included.
func Retry(ctx context.Context, st Store, what string, do func(ctx context.Context) error) error {
	if p, ok := st.(*patient); ok {
		return p.retry(ctx, what, do)
	}
	return do(ctx)
}

type noRetryKey struct{}

// Cleanup returns a context for the removal of unfinished output. It outlives ctx for a
// short time, and failures in it are not retried.
func Cleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	clean, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), noRetryKey{}, true), cleanupTime)
	//guard: ends the wait for storage that hangs
	stop := context.AfterFunc(ctx, func() {
		select {
		case <-clean.Done():
		case <-time.After(stoppedTime):
			cancel()
		}
	})
	return clean, func() {
		stop()
		cancel()
	}
}

// patient is a store that retries. Its methods intercept those of inner.
type patient struct {
	Store
	inner    Store
	patience Patience
}

type budgetKey struct{}

// budget is the time that an operation, and those within it, have waited.
type budget struct {
	mu      sync.Mutex    // of what follows
	began   time.Time     // the first failure; zero before it
	skipped time.Duration // waits that a test skipped
}

// used returns the time since the first failure. If there was none, it starts now.
func (b *budget) used() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.began.IsZero() {
		b.began = time.Now()
	}
	return max(time.Since(b.began), b.skipped)
}

func (b *budget) skip(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.skipped += d
}

// exhausted is an error at the end of patience. An enclosing operation does not wait
// again, even if it has another budget.
type exhausted struct{ error }

func (e *exhausted) Unwrap() error { return e.error }

// retry calls do until it succeeds, fails for good, or has used up the budget of ctx,
// or a new one if ctx has none. do gets a context with the budget.
func (p *patient) retry(ctx context.Context, what string, do func(ctx context.Context) error) error {
	sleep := Sleep
	if p.patience.Sleep != nil {
		sleep = p.patience.Sleep
	}
	b, ok := ctx.Value(budgetKey{}).(*budget)
	if !ok {
		b = &budget{}
		ctx = context.WithValue(ctx, budgetKey{}, b)
	}
	for wait := firstWait; ; wait = min(2*wait, maxWait) {
		err := do(ctx)
		//guard: does not retry a host whose name is unknown
		if errors.Is(err, ErrUnresolved) {
			return err
		}
		if err == nil || Classify(err) != Retryable || ctx.Value(noRetryKey{}) != nil {
			return err
		}
		//guard: reports why ctx ended
		if ended := ctx.Err(); ended != nil {
			return fmt.Errorf("%w (it would be tried again after: %v)", ended, err)
		}
		left := p.patience.Limit - b.used()
		if inner := (*exhausted)(nil); left <= 0 || errors.As(err, &inner) {
			return &exhausted{err}
		}
		pause := min(wait/2+rand.N(wait), left)
		if p.patience.Waiting != nil {
			p.patience.Waiting(what, err, pause)
		}
		if ended := sleep(ctx, pause); ended != nil {
			return fmt.Errorf("%w (while waiting to try again after: %v)", ended, err)
		}
		if p.patience.Sleep != nil {
			b.skip(pause)
		}
	}
}

// Sleep waits for d or until ctx ends, and then returns its error.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Capabilities returns those of the inner store. Checksum has one try.
func (p *patient) Capabilities() Capabilities { return CapabilitiesOf(p.inner) }

// Open implements Store.
func (p *patient) Open(ctx context.Context, path string) (f File, err error) {
	err = p.retry(ctx, "open "+path, func(ctx context.Context) (err error) {
		f, err = p.inner.Open(ctx, path)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &patientFile{store: p, ctx: ctx, File: f}, nil
}

// Create implements Store. It is tried once: an upload is repeated as a whole.
func (p *patient) Create(ctx context.Context, path string, o CreateOptions) (Writer, error) {
	return p.inner.Create(ctx, path, o)
}

// retryCall repeats a call while its error is Retryable. It makes a Mkdir once: a failed
// one may have been done, or may be done later, and a second try could mistake its
// directory for that of another process. Callers can try again under another name.
func (p *patient) retryCall(c *Call) error {
	if c.Op == OpMkdir {
		return c.Do()
	}
	var renamed *Info
	tried := false
	return p.retry(c.Ctx, string(c.Op)+" "+c.Path, func(ctx context.Context) error {
		c.Ctx = ctx
		switch {
		case c.Op != OpRename:
		case renamed == nil:
			info, err := p.inner.Stat(ctx, c.Path)
			if err != nil {
				return err
			}
			renamed = &info
		case renamed.FileID != 0:
			info, err := p.inner.Stat(ctx, c.To)
			//guard: recognizes its own rename whose answer was lost
			if err == nil && info.FileID == renamed.FileID {
				return nil // the first try succeeded
			}
		}
		err := c.Do()
		switch {
		case !tried:
			tried = true
		case c.Op == OpRemove && errors.Is(err, ErrNotExist):
			return nil
		case c.Op == OpWriteFile && errors.Is(err, ErrExist):
			there, readErr := p.inner.ReadFile(ctx, c.Path, int64(len(c.Data)))
			//guard: recognizes its own file whose answer was lost
			if readErr == nil && string(there) == string(c.Data) {
				return nil
			}
		}
		return err
	})
}

// patientFile opens its file again when reading it fails.
type patientFile struct {
	store *patient
	ctx   context.Context // of Open; bounds the reads

	mu     sync.Mutex // of what follows
	closed bool
	File
}

// ReadAt implements io.ReaderAt.
func (f *patientFile) ReadAt(b []byte, off int64) (int, error) {
	return f.read(func(file File) (int, error) { return file.ReadAt(b, off) })
}

// ReadRange implements RangeReader.
func (f *patientFile) ReadRange(b []byte, off int64) (int, error) {
	return f.read(func(file File) (int, error) { return ReadRange(file, b, off) })
}

// Identity implements Identified.
func (f *patientFile) Identity() Identity { return IdentityOf(f.current()) }

// read reads from the file and, if that fails, from the reopened one.
func (f *patientFile) read(from func(File) (int, error)) (n int, err error) {
	err = f.store.retry(f.ctx, "read "+f.current().Name(), func(context.Context) error {
		file := f.current()
		n, err = from(file)
		switch {
		case err == nil || err == io.EOF:
			return err
		case Classify(err) == Retryable:
			if again := f.reopen(file); Classify(again) != Retryable {
				err = cmp.Or(again, err)
			}
		case f.current() != file: // closed by a reader that reopened the file
			err = fmt.Errorf("%w: %w", ErrUnavailable, err)
		}
		return err
	})
	return n, err
}

func (f *patientFile) current() File {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.File
}

// reopen replaces a file whose reads fail, unless another reader already did.
func (f *patientFile) reopen(failed File) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed || f.File != failed {
		return nil
	}
	again, err := f.store.inner.Open(f.ctx, failed.Name())
	if err != nil {
		return err
	}
	//guard: rejects a file that was replaced between two reads
	if again.Size() != failed.Size() || IdentityOf(again) != IdentityOf(failed) {
		_ = again.Close() // only read
		return &fs.PathError{Op: "read", Path: failed.Name(), Err: ErrReplaced}
	}
	_ = failed.Close() // only read
	f.File = again
	return nil
}

// Close implements io.Closer.
func (f *patientFile) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	return f.File.Close()
}
