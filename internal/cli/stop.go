package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/spill"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// stopTime is the time in which the work can end by itself after it was told to. After
	// stopTime, lastTime is the time to clean up and report. Together they are less than the
	// 10 s after which schedulers kill a process.
	stopTime = 7 * time.Second
	lastTime = time.Second
	// echoTime is the time after a signal in which further signals are its echo: timeout(1)
	// sends a signal to the program and then to its group, which includes the program.
	echoTime = 300 * time.Millisecond
)

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string {
	return fmt.Sprintf("stopped by %s: temporary files are removed, and a rerun resumes the work", unix.SignalName(i.signal))
}

// overtime is the cause of a context that ended with --max-runtime.
func overtime(limit time.Duration) error {
	return failure.New(failure.Storage, "stopped after --max-runtime %v: finished work is kept, and a rerun resumes it", limit)
}

// stoppable tells the work of the program to end.
type stoppable struct {
	cancel context.CancelCauseFunc
	abort  func(cause error) // ends the program if the work does not end
	once   sync.Once
	late   *time.Timer
	runs   *time.Timer // fires after --max-runtime
}

// stop tells the work to end.
func (s *stoppable) stop(cause error) {
	s.once.Do(func() {
		s.cancel(cause)
		// Storage may hang in a call that cannot be cancelled, or a library may be busy.
		s.late = time.AfterFunc(stopTime, func() { s.abort(cause) })
	})
}

// withSignals returns a context that SIGINT, SIGTERM and SIGHUP cancel. If SIGHUP was ignored
// when the program started, as with nohup, it stays ignored. A second signal that is not an
// echo of the first ends the program at once.
func (a *App) withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	a.stoppable = &stoppable{cancel: cancel, abort: a.abort}
	signals := make(chan os.Signal, 1)
	heard := []os.Signal{syscall.SIGINT, syscall.SIGTERM}
	//guard: keeps work running that outlives its terminal
	if !signal.Ignored(syscall.SIGHUP) {
		heard = append(heard, syscall.SIGHUP)
	}
	signal.Notify(signals, heard...)
	go func() {
		select {
		case s := <-signals:
			if sig, ok := s.(syscall.Signal); ok {
				a.stoppable.stop(interrupted{sig})
			}
			//guard: waits for the echo of the signal
			time.Sleep(echoTime)
			signal.Stop(signals)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		a.stoppable.end()
		cancel(errors.New("finished"))
	}
}

// end must be called after the program has reported the outcome.
func (s *stoppable) end() {
	s.once.Do(func() {}) // a later stop does nothing
	for _, t := range []*time.Timer{s.late, s.runs} {
		if t != nil {
			t.Stop()
		}
	}
}

// endAfter tells the work to end after a time. 0 is no limit.
func (a *App) endAfter(most time.Duration) {
	if most > 0 {
		a.stoppable.runs = time.AfterFunc(most, func() { a.stoppable.stop(overtime(most)) })
	}
}

// abort ends the program although work is in progress. The next run removes leftovers on
// other machines.
func (a *App) abort(cause error) {
	err := fmt.Errorf("%w (an operation did not end within %v and was abandoned)", cause, stopTime)
	said := make(chan struct{})
	go func() {
		defer close(said)
		if !a.finishing.TryLock() {
			return // another goroutine prints the outcome, to a reader that does not read
		}
		cleared := make(chan struct{})
		go func() {
			defer close(cleared)
			spill.Clear()
			a.unfinished.clear()
		}()
		select { // a disk that hangs must not hold up the report
		case <-cleared:
		case <-time.After(lastTime / 2):
		}
		a.conclude(err, bufio.NewWriter(a.Stdout), nil) // the work under way may still use a.Out and a.Result
	}()
	select {
	case <-said:
	case <-time.After(lastTime):
	}
	os.Exit(ExitCode(err))
}

// unfinished holds files under temporary names, which an early end removes. It is safe for
// concurrent use.
type unfinished struct {
	mu    sync.Mutex
	files []store.Location
}

func (u *unfinished) add(at store.Location) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files = append(u.files, at)
}

func (u *unfinished) done(at store.Location) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.files = slices.DeleteFunc(u.files, func(l store.Location) bool { return l == at })
}

func (u *unfinished) clear() {
	u.mu.Lock()
	defer u.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), lastTime)
	defer cancel()
	for _, at := range u.files {
		_ = at.Store.Remove(ctx, at.Path) // an error has no place to go
	}
}
