// Command rowtocol converts Avro row files into column files, and reads and checks
// the result. This package only parses the command line, prints, and turns errors
// into exit codes. Other packages do the work.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

func main() {
	for _, s := range schedulers {
		if s := s(); s.Started() {
			os.Exit(runChild(s, os.Stderr))
		}
	}
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is the whole program except os.Exit. It reports a panic as a defect, after deferred
// functions have cleaned up.
func run(args []string, stdout, stderr *os.File) (code int) {
	a := newApp(args, stdout, stderr)
	defer func() {
		if p := recover(); p != nil {
			code = a.conclude(&defect{value: p, stack: debug.Stack()}, a.out, a.result)
		}
	}()
	signal.Ignore(syscall.SIGPIPE) // the work goes on if the reader of a pipe is gone
	ctx, stop := a.withSignals(context.Background())
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
