package hadoop

import (
	"context"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store/location"
)

// YARN is the Engine of the command line. Call Open before Run and Attach.
type YARN struct {
	*Engine
	queue      string
	properties []string
}

// AddFlags adds the flags that are specific to this engine.
func (y *YARN) AddFlags(flags *pflag.FlagSet) {
	flags.StringVar(&y.queue, "queue", "", "YARN `queue` of the job (default the cluster's)")
	flags.StringArrayVarP(&y.properties, "property", "D", nil, "Hadoop property of the job, `KEY=VALUE`; it overrides the cluster's configuration; repeatable")
}

// Open prepares to run tasks as the user of stores. It contacts no server.
func (y *YARN) Open(o task.RemoteOptions, stores *location.Resolver) error {
	login, err := stores.Login()
	if err != nil {
		return err
	}
	home, err := stores.Home()
	if err != nil {
		return err
	}
	y.Engine, err = New(Options{RemoteOptions: o, Login: login, Home: home, Queue: y.queue, Properties: y.properties})
	return err
}

// Started reports whether Hadoop started this process to run a task.
func (y *YARN) Started() bool { return pipes.Started() }

// RunTask runs the task for which Hadoop started this process. exit returns the exit code for an
// error.
func (y *YARN) RunTask(ctx context.Context, e task.Environment, exit func(error) int) error {
	return RunChild(ctx, ChildOptions{Environment: e, Exit: exit})
}
