// Command rowtocol converts Avro row files into column files and looks at the
// result. This package only parses the command line, prints, and turns errors
// into exit codes; the work is in the packages beside it.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program but for os.Exit. A panic is reported as a defect;
// the deferred clean-up of the packages has run by then.
func run(args []string, stdout, stderr *os.File) (code int) {
	a := newApp(args, stdout, stderr)
	defer func() {
		if p := recover(); p != nil {
			code = a.finish(&defect{value: p, stack: debug.Stack()})
		}
	}()
	signal.Ignore(syscall.SIGPIPE) // what nobody reads any more does not end the work
	ctx, stop := withSignals(context.Background())
	defer stop()
	root := a.rootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.closeStores()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return a.finish(a.withOrigin(err))
}

// defect is a panic, turned into an error.
type defect struct {
	value any
	stack []byte
}

func (d *defect) Error() string {
	return fmt.Sprintf("this is a defect of rowtocol, please report it with the lines below: %v\n%s", d.value, d.stack)
}

// interrupted is the cause of a context that a signal cancelled.
type interrupted struct{ signal syscall.Signal }

func (i interrupted) Error() string {
	return fmt.Sprintf("stopped by %s: temporary files are removed, and a rerun goes on from here", unix.SignalName(i.signal))
}

// withSignals returns a context that SIGINT and SIGTERM cancel. A second
// signal ends the program at once.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			if sig, ok := s.(syscall.Signal); ok {
				cancel(interrupted{sig})
			}
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(errors.New("finished"))
	}
}
