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
	// cleanupTime bounds the removal of unfinished output, because the storage may hang.
	cleanupTime = 30 * time.Second
	// stoppedTime bounds this removal after the program was told to stop.
	stoppedTime = 3 * time.Second
)

// Patience configures how long retryable failures are retried. It should be minutes, because a
// name node still names a dead data node for minutes.
type Patience struct {
	// Limit is the time from an operation's first failure to its last try.
	Limit time.Duration
	// Waiting, if set, is called before each wait. It may be called concurrently.
	Waiting func(what string, err error, wait time.Duration)
	// Sleep waits for d. If ctx ends first, it returns the error of ctx. It is nil except in
	// tests, which do not wait. The time that tests skip counts as waited.
	Sleep func(ctx context.Context, d time.Duration) error
}

// WithRetry returns a store that retries operations of st and reads of its files as long as
// their error is Retryable. It does not retry Mkdir and Create. It does not retry the calls of
// a Writer, because half a file cannot be written again: see Retry.
//
// An operation whose answer was lost may have succeeded. A repeated Rename or exclusive
// WriteFile recognizes that from the file's number or content.
func WithRetry(st Store, patience Patience) Store {
	p := &patient{inner: st, patience: patience}
	p.Store = Intercept(st, p.retryCall)
	return p
}

// Retry calls try until it succeeds or fails for good, or until the patience of st ends. If
// st has no patience, Retry calls try once. Retry is for uploads: try repeats an upload from
// the start under another name.
//
// Operations that use the context given to try share one time limit with the whole call. The
// time begins at the first failure of try or of such an operation.
func Retry(ctx context.Context, st Store, what string, try func(ctx context.Context) error) error {
	if p, ok := st.(*patient); ok {
		return p.retry(ctx, what, try)
	}
	return try(ctx)
}

type noRetryKey struct{}

// Cleanup returns a context for the removal of unfinished output. The context ends 30 s after
// the call, or 3 s after ctx if that is earlier. Calls with the context are not retried.
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

// patient is a store that retries the calls of inner.
type patient struct {
	Store
	inner    Store
	patience Patience
}

type budgetKey struct{}

// budget measures the time since the first failure of an operation or of one within it.
type budget struct {
	mu      sync.Mutex    // guards the fields below
	began   time.Time     // the first failure; zero before it
	skipped time.Duration // waits that a test skipped
}

// used returns the time since the first failure. The first call sets the time of that failure.
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

// exhausted is the error of an operation whose patience has ended. An operation that contains
// the failed one does not wait again, even if it has another budget.
type exhausted struct{ error }

func (e *exhausted) Unwrap() error { return e.error }

// Exhausted reports whether an error is that of an operation whose patience has ended.
func Exhausted(err error) bool { return errors.As(err, new(*exhausted)) }

// retry calls try until it succeeds or fails for good, or until the budget of ctx is used up.
// If ctx has no budget, retry makes one. The context of try has the budget.
func (p *patient) retry(ctx context.Context, what string, try func(ctx context.Context) error) error {
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
		err := try(ctx)
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
		if left <= 0 || Exhausted(err) {
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

// Sleep waits for d. If ctx ends first, it returns the error of ctx.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// Capabilities returns the capabilities of the inner store. Their calls are not retried.
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

// Create implements Store. It is not retried, because an upload is repeated as a whole.
func (p *patient) Create(ctx context.Context, path string, o CreateOptions) (Writer, error) {
	return p.inner.Create(ctx, path, o)
}

// retryCall repeats a call as long as its error is Retryable. It does not repeat Mkdir: a
// Mkdir that failed may have made the directory, or may make it later. A second try could not
// know whose directory it is. Callers can try again under another name.
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
	ctx   context.Context // context of Open, which bounds the reads

	mu     sync.Mutex // guards the fields below
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

// read reads from the file. If that fails, it opens the file again and reads from it.
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

// reopen replaces a file whose reads fail, unless another reader has done so.
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
