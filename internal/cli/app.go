package cli

import (
	"bufio"
	"cmp"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store/location"
	"github.com/rowtocol/rowtocol/telemetry/report"
)

// App is one run of a program. It has the streams, the common flags, and the contents of
// the final JSON object.
type App struct {
	program *Program
	Out     *bufio.Writer // a buffer of Stdout
	Stdout  *Screen
	Console *console
	Log     *slog.Logger

	configFile string
	JSON       bool
	TempDir    string
	Memory     ByteSize
	Pool       *budget.Pool // accounts for memory
	Workers    int
	Logs       logFlags
	Store      location.Options
	Watchers   Watchers
	Stores     *location.Resolver
	// ExitNothing is the exit code of a run that had nothing to do.
	ExitNothing int
	maxRuntime  time.Duration

	args       []string
	Flags      *pflag.FlagSet     // flags of the command that ran
	origins    map[string]setting // origins of values that are not from the command line
	hasTable   bool
	Command    string // name of the command that ran
	RowsOut    bool   // the command prints rows on standard output
	Result     any    // the command's part of the final JSON object
	Run        *report.Run
	finishing  sync.Mutex // locked, to the end of the program, by the goroutine that reports the outcome
	stoppable  *stoppable
	unfinished unfinished
	journal    *journal // nil for commands that do not log their progress
	toldPlan   bool     // every line of the log has the plan
	toldTask   bool
	Figures    Figures // figures of Run, once it has ended
	Status     string  // status of a success in the final JSON object, unless it is "done"
}

// NewApp begins a run of a program.
func NewApp(p *Program, args []string, stdout, stderr *os.File) *App {
	screen := newScreen(stdout)
	a := &App{
		program: p,
		Out:     bufio.NewWriterSize(screen, 64<<10), Stdout: screen,
		Console: newConsole(p, stderr), args: args,
		Run: newRun(), Memory: 512 << 20, Workers: runtime.GOMAXPROCS(0),
		Logs: logFlags{every: lineEvery},
	}
	a.Log = a.Console.Logger(slog.LevelInfo, "auto")
	if !a.Console.People {
		a.Log = a.Log.With("run", a.Run.ID)
	}
	return a
}

// AddExitNothing adds the flag for the exit code of a run with nothing to do.
func (a *App) AddExitNothing(flags *pflag.FlagSet) {
	flags.IntVar(&a.ExitNothing, "exit-nothing", 0, "exit `code` if there was nothing to do (default 0)")
}

// AddMaxRuntime adds the flag that limits the time of a run.
func (a *App) AddMaxRuntime(flags *pflag.FlagSet) {
	flags.Var((*TimeSpan)(&a.maxRuntime), "max-runtime", "stop after this time, keep finished work, and end with exit code 4, so that a retry resumes (default no limit)")
}

// PrintsRows is the annotation of commands that print rows.
const PrintsRows = "rows"

// begin records the command.
func (a *App) begin(cmd *cobra.Command) {
	a.Command, a.RowsOut = cmd.Name(), cmd.Annotations[PrintsRows] != ""
}

// Begins makes a command call begin, which takes its arguments and logs its start, before the
// values of its settings are checked: a run that ends because of a wrong value is logged like
// any other.
func (a *App) Begins(cmd *cobra.Command, begin func(args []string) error) {
	cmd.PersistentPreRunE = func(cmd *cobra.Command, args []string) error {
		return a.prepare(cmd, func() error { return begin(args) })
	}
}

// prepare runs before every command, after its flags are parsed.
func (a *App) prepare(cmd *cobra.Command, begin func() error) error {
	a.begin(cmd)
	a.Flags = cmd.Flags()
	wrong := a.configure(cmd)
	if err := a.openLog(); err != nil {
		return cmp.Or(wrong, err)
	}
	begun := begin()
	if err := cmp.Or(wrong, a.Watchers.check(cmd.Context()), begun); err != nil {
		return err
	}
	if a.Workers < 1 {
		return Usagef("--workers must be at least 1")
	}
	if a.Memory < 16<<20 {
		return Usagef("--memory must be at least 16MiB")
	}
	a.Pool = budget.New(int64(a.Memory))
	// The pool limits reserved memory; SetLimit limits the heap, including garbage.
	budget.SetLimit(int64(a.Memory) + budget.Headroom)
	if err := a.openStores(); err != nil {
		return err
	}
	if a.ExitNothing < 0 || a.ExitNothing > 255 {
		return Usagef("--exit-nothing must be an exit code, 0 to 255")
	}
	a.endAfter(a.maxRuntime)
	return nil
}

// Takes turns a wrong number of arguments into a usage error.
func (a *App) Takes(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			a.begin(cmd)
			return Usagef("%s cannot run with %s; usage: %s", cmd.Name(), Plural(int64(len(args)), "argument"), cmd.UseLine())
		}
		return nil
	}
}
