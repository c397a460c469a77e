package cli

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// Program is what programs differ in.
type Program struct {
	Name, Short, Long, Example string
	// Commands lists the commands, and the topics of the help, without those of all programs.
	Commands []Command
	// Groups returns the groups of the flags of commands that have many flags, in order. Flags
	// without a group come before all groups. It is nil if no command has many flags.
	Groups func() []FlagGroup
	// Actions say what the user should do after an exit code, where Exits does not fit.
	Actions map[int]string
	// Drawing returns lines that show people the place of an error, or "".
	Drawing func(err error) string
}

// Command makes the command with a name.
type Command struct {
	Name string
	New  func(*App) *cobra.Command
}

// All lists all commands and topics of a program.
func (p *Program) All() []Command {
	return append(slices.Clip(p.Commands), Command{"version", newVersionCommand}, Command{"man", newManCommand}, Command{"exit-codes", exitCodesTopic})
}

// Root returns a root command that has all commands. It shares nothing with the run.
func (p *Program) Root() *cobra.Command { return NewApp(p, nil, os.Stdout, os.Stderr).RootCommand() }

// RootCommand makes the root command. If the first argument is the name of a command, the root
// command has no other commands: their flags would take half a millisecond of each run.
func (a *App) RootCommand() *cobra.Command {
	var showVersion bool
	root := &cobra.Command{
		Use:           a.program.Name,
		Short:         a.program.Short,
		Long:          a.program.Long,
		Example:       a.program.Example,
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
	root.SetOut(a.Out)
	root.SetErr(a.Console)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		// The flags after the wrong flag were not parsed.
		a.begin(cmd)
		a.JSON = a.JSON || slices.Contains(a.args, "--json")
		if asked := strings.Join(a.args, " ") + " --log-format " + os.Getenv(envName("log-format")); strings.Contains(strings.ReplaceAll(asked, "=", " "), "--log-format json") {
			a.Logs.Format = "json"
		}
		return wrongFlag(cmd, err)
	})
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		return a.prepare(cmd, func() error { return nil })
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.configFile, "config", "", "YAML job `file` with values for flags")
	flags.BoolVar(&a.JSON, "json", false, "print one JSON object at the end, on standard output, or on standard error if the command prints rows")
	flags.StringVar(&a.TempDir, "temp-dir", os.TempDir(), "`directory` for temporary files")
	flags.Var((*LargeSize)(&a.Memory), "memory", "limit for the memory of the program; give its container 48 MiB more")
	flags.IntVar(&a.Workers, "workers", a.Workers, "`number` of parallel workers, by default the number of cores; the number never changes the output")
	flags.Lookup("workers").DefValue = "0" // help and manual do not name this machine's number
	a.addStore(flags)
	a.Logs.add(flags)
	Complete(root, "log-level", logLevels...)
	Complete(root, "log-format", logFormats...)

	made := a.program.All()
	if i := slices.IndexFunc(made, func(c Command) bool { return len(a.args) > 0 && c.Name == a.args[0] }); i >= 0 {
		root.AddCommand(made[i].New(a))
		root.CompletionOptions.DisableDefaultCmd = true
		return root
	}
	for _, c := range made {
		root.AddCommand(c.New(a))
	}
	refuseOthers(root)
	return root
}

// Complete sets the values of a flag that shells complete.
func Complete(cmd *cobra.Command, flag string, choices ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(choices, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(err) // the flag is not defined
	}
}

// action returns what the user should do after an exit code.
func (p *Program) action(e Exit) string { return cmp.Or(p.Actions[e.Code], e.Action) }

// draw returns the lines below an error.
func (p *Program) draw(err error) string {
	if p.Drawing == nil {
		return ""
	}
	return p.Drawing(err)
}
