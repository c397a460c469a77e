package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/store/location"
	"github.com/rowtocol/rowtocol/telemetry/report"
)

// app is one run of the program. It has the streams, the common flags, and the contents of
// the final JSON object.
type app struct {
	program *program
	out     *bufio.Writer
	stdout  *screen
	console *console
	log     *slog.Logger

	configFile string
	json       bool
	tempDir    string
	memory     byteSize
	pool       *budget.Pool // accounts for memory
	workers    int
	logs       logFlags
	store      location.Options
	watchers   watchers
	stores     *location.Resolver
	// exitNothing is the exit code of a run that had nothing to do, and maxRuntime the time
	// limit of a run.
	exitNothing int
	maxRuntime  time.Duration

	args       []string
	flags      *pflag.FlagSet     // flags of the command that ran
	origins    map[string]setting // origins of values that are not from the command line
	command    string             // name of the command that ran
	rowsOut    bool               // the command prints rows on standard output
	stdinTaken bool               // standard input is being read
	result     any                // the command's part of the final JSON object
	run        *report.Run
	finishing  sync.Mutex // locked, to the end of the program, by the goroutine that reports the outcome
	stoppable  *stoppable
	unfinished unfinished
	journal    *journal // nil for commands that do not log their progress
	toldPlan   bool     // every line of the log has the plan
	toldTask   bool
	figures    Figures // figures of run, once it has ended
	status     string  // status of a success in the final JSON object, unless it is "done"
}

func newApp(p *program, args []string, stdout, stderr *os.File) *app {
	shown := newScreen(stdout)
	a := &app{
		program: p,
		out:     bufio.NewWriterSize(shown, 64<<10), stdout: shown,
		console: newConsole(p, stderr), args: args,
		run: newRun(), memory: 512 << 20, workers: runtime.GOMAXPROCS(0),
	}
	a.log = a.console.logger(slog.LevelInfo, "auto")
	if !a.console.people {
		a.log = a.log.With("run", a.run.ID)
	}
	return a
}

// program is what programs differ in.
type program struct {
	name, short, long, example string
	// commands lists the commands, and the topics of the help, without those of all programs.
	commands []namedCommand
	// groups returns the groups of the flags of commands that have many flags, in order. Flags
	// without a group come before all groups. It is nil if no command has many flags.
	groups func() []titledFlags
	// drawing returns lines that show people the place of an error, or "".
	drawing func(err error) string
}

// namedCommand makes the command with a name.
type namedCommand struct {
	name string
	make func(*app) *cobra.Command
}

// all lists all commands and topics of a program.
func (p *program) all() []namedCommand {
	return append(slices.Clip(p.commands), namedCommand{"version", newVersionCommand}, namedCommand{"man", newManCommand}, namedCommand{"exit-codes", exitCodesTopic})
}

// root returns a root command that has all commands. It shares nothing with the run.
func (p *program) root() *cobra.Command { return newApp(p, nil, os.Stdout, os.Stderr).rootCommand() }

// rootCommand makes the root command. If the first argument is the name of a command, the root
// command has no other commands: their flags would take half a millisecond of each run.
func (a *app) rootCommand() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:           a.program.name,
		Short:         a.program.short,
		Long:          a.program.long,
		Example:       a.program.example,
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          noCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if showVersion {
				a.printVersion()
				return nil
			}
			return cmd.Help()
		},
	}
	root.Flags().BoolVar(&showVersion, "version", false, "print the program's version, commit and platform")
	cobra.AddTemplateFunc("flagGroups", a.program.flagGroups)
	root.SetUsageTemplate(strings.NewReplacer(
		"Flags:\n{{.LocalFlags.FlagUsages |", "{{range $i, $g := flagGroups .}}{{if $i}}\n\n{{end}}{{$g.Title}}:\n{{$g.Flags.FlagUsagesWrapped 80 |",
		"trimTrailingWhitespaces}}{{end}}{{if .HasAvailableInheritedFlags}}", "trimTrailingWhitespaces}}{{end}}{{end}}{{if .HasAvailableInheritedFlags}}",
		".FlagUsages ", ".FlagUsagesWrapped 80 ",
	).Replace(root.UsageTemplate()))
	root.SetOut(a.out)
	root.SetErr(a.console)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// The flags after the wrong flag were not parsed.
		a.begin(cmd)
		a.json = a.json || slices.Contains(a.args, "--json")
		return wrongFlag(cmd, err)
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return a.prepare(cmd) }
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", "", "YAML job `file` with values for flags")
	flags.BoolVar(&a.json, "json", false, "print one JSON object at the end, on standard output, or on standard error if the command prints rows")
	flags.StringVar(&a.tempDir, "temp-dir", os.TempDir(), "`directory` for temporary files")
	flags.Var(&a.memory, "memory", "limit for the memory of the program; give its container 48 MiB more")
	flags.IntVar(&a.workers, "workers", a.workers, "number of parallel workers, by default the number of cores; the number never changes the output")
	flags.Lookup("workers").DefValue = "0" // help and manual do not name this machine's number
	a.addStore(flags)
	a.logs.add(flags)
	complete(root, "log-level", logLevels...)
	complete(root, "log-format", logFormats...)

	made := a.program.all()
	if i := slices.IndexFunc(made, func(c namedCommand) bool { return len(a.args) > 0 && c.name == a.args[0] }); i >= 0 {
		root.AddCommand(made[i].make(a))
		root.CompletionOptions.DisableDefaultCmd = true
		return root
	}
	for _, c := range made {
		root.AddCommand(c.make(a))
	}
	refuseOthers(root)
	return root
}

// addExitNothing adds the flag for the exit code of a run with nothing to do.
func (a *app) addExitNothing(flags *pflag.FlagSet) {
	flags.IntVar(&a.exitNothing, "exit-nothing", 0, "exit `code` if there was nothing to do (default 0)")
}

// addMaxRuntime adds the flag that limits the time of a run.
func (a *app) addMaxRuntime(flags *pflag.FlagSet) {
	flags.Var((*timeSpan)(&a.maxRuntime), "max-runtime", "stop after this time, keep finished work, and end with exit code 4, so that a retry resumes (default no limit)")
}

// printsRows is the annotation of commands that print rows.
const printsRows = "rows"

// begin records the command.
func (a *app) begin(cmd *cobra.Command) {
	a.command, a.rowsOut = cmd.Name(), cmd.Annotations[printsRows] != ""
}

// prepare runs before every command, after its flags are parsed.
func (a *app) prepare(cmd *cobra.Command) error {
	a.begin(cmd)
	a.flags = cmd.Flags()
	if err := a.configure(cmd); err != nil {
		return err
	}
	if err := a.openLog(); err != nil {
		return err
	}
	if err := a.watchers.check(cmd.Context()); err != nil {
		return err
	}
	if a.workers < 1 {
		return usagef("--workers must be at least 1")
	}
	if a.memory < 16<<20 {
		return usagef("--memory must be at least 16MiB")
	}
	a.pool = budget.New(int64(a.memory))
	// The pool limits reserved memory; SetLimit limits the heap, including garbage.
	budget.SetLimit(int64(a.memory) + budget.Headroom)
	if err := a.openStores(); err != nil {
		return err
	}
	if a.exitNothing < 0 || a.exitNothing > 255 {
		return usagef("--exit-nothing must be an exit code, 0 to 255")
	}
	a.endAfter(a.maxRuntime)
	return nil
}

// takes turns a wrong number of arguments into a usage error.
func (a *app) takes(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			a.begin(cmd)
			return usagef("%s cannot run with %s; usage: %s", cmd.Name(), plural(int64(len(args)), "argument"), cmd.UseLine())
		}
		return nil
	}
}

func complete(cmd *cobra.Command, flag string, choices ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag is not defined
	}
}

// statusNothing is the JSON status of a run that had nothing to do.
const statusNothing = "nothing"

// ending is the final JSON object of --json. It is printed on standard output. If the command
// prints rows there, it is the last line of standard error.
type ending struct {
	Run     string    `json:"run"` // ID of this run of the program
	Command string    `json:"command"`
	Exit    int       `json:"exit"`
	Status  string    `json:"status"`
	Error   *reported `json:"error,omitempty"`
	Result  any       `json:"result,omitempty"`
}

// finish prints the rest of the output and returns the exit code. A failure to print is a
// failure of storage. If the reader of standard output ends early, as head does, that is
// no failure.
func (a *app) finish(err error) int {
	a.finishing.Lock()
	return a.conclude(err, a.out, a.result)
}

// conclude is finish with out and result, which no other goroutine may use.
func (a *app) conclude(err error, out *bufio.Writer, result any) int {
	a.console.clear()
	if errors.Is(err, errReaderGone) {
		err = nil
	}
	code, status := exitCode(err), classify(err).name()
	if err == nil && a.status != "" {
		if status = a.status; status == statusNothing {
			code = a.exitNothing
		}
	}
	a.endRun(code, status)
	r := ending{Run: a.run.ID, Command: a.command, Exit: code, Status: status, Error: describe(err), Result: result}
	if a.json && !a.rowsOut {
		if jsonErr := r.print(out, "  "); jsonErr != nil && !errors.Is(jsonErr, errReaderGone) && err == nil {
			err, code = jsonErr, classify(jsonErr).code
		}
	}
	if flushErr := out.Flush(); flushErr != nil && !errors.Is(flushErr, errReaderGone) && err == nil {
		err, code = flushErr, classify(flushErr).code
	}
	if err != nil {
		a.console.fail(a.ofFailed(err), err, code)
	}
	if a.run.Exit = code; code != r.Exit {
		a.run.Status = classify(err).name()
	}
	a.tell(err)
	a.end(err)
	a.push(err)
	if a.json && a.rowsOut {
		_ = r.print(a.console, "") // an error has no place to go
	}
	return code
}

func (r *ending) print(w io.Writer, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", indent)
	enc.SetEscapeHTML(false)
	return enc.Encode(r)
}

// summary prints the outcome of the work, unless --json or --quiet is given.
func (a *app) summary(format string, args ...any) {
	if !a.json && !a.logs.quiet {
		a.printf(format, args...)
	}
}

// printf prints to standard output. finish reports its errors. printf makes texts among args
// printable, because names in them may come from files.
func (a *app) printf(format string, args ...any) {
	for i, arg := range args {
		switch arg := arg.(type) {
		case string:
			args[i] = printable(arg)
		case error:
			args[i] = printable(arg.Error())
		case fmt.Stringer:
			args[i] = printable(arg.String())
		}
	}
	_, _ = fmt.Fprintf(a.out, format, args...) // the buffer keeps the error for Flush
}

// width returns the columns of the terminal on standard output, or 0 if there is no terminal.
func (a *app) width() int {
	if w, _, err := term.GetSize(int(a.stdout.file.Fd())); err == nil {
		return w
	}
	return 0
}

// exitCodesTopic is the help topic of exit codes, made from the table.
func exitCodesTopic(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: "The exit code of " + a.program.name + " says what a scheduler should do next:\n\n" + exitHelp() + `
If the program that reads standard output ends early, as head does, that is no
failure. The work continues, and the exit code reports its outcome. A command
that only prints ends then.`,
	}
}
