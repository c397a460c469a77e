package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
)

// Run is the whole program except os.Exit. It reports a panic as a defect, after deferred
// functions have cleaned up.
func Run(p *Program, args []string, stdout, stderr *os.File) (code int) {
	a := NewApp(p, args, stdout, stderr)
	defer func() {
		if v := recover(); v != nil {
			code = a.conclude(&defect{program: a.program.Name, value: v, stack: debug.Stack()}, a.Out, a.Result)
		}
	}()
	signal.Ignore(syscall.SIGPIPE) // the work goes on if the reader of a pipe is gone
	ctx, stop := a.withSignals(context.Background())
	defer stop()
	root := a.RootCommand()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	a.closeStores()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return a.Finish(a.withOrigin(err))
}

// defect is a panic, turned into an error.
type defect struct {
	program string
	value   any
	stack   []byte
}

func (d *defect) Error() string {
	return fmt.Sprintf("this is a defect of %s, please report it with the lines below: %v\n%s", d.program, d.value, d.stack)
}
