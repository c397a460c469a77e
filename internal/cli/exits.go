package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Exit is one row of the table of exit codes.
type Exit struct {
	Code    int
	codes   string // label in the table; empty if the label is code
	status  string // status in the JSON object; empty if the status is the name of kind
	Kind    error  // kind of package failure, or nil
	Meaning string
	retry   bool             // whether a retry may succeed
	Action  string           // what the user should do
	is      func(error) bool // matches errors of other kinds; nil if there are none
}

// Exits is the table of exit codes for the program, its help and the documentation, in the
// order of the documentation. The order of matching is priority.
var Exits = []Exit{
	{
		Code: 0, status: "done",
		Meaning: "done, or nothing to do (`--exit-nothing N` chooses another code, e.g. Airflow's 99 for \"skipped\")",
		Action:  "nothing",
	},
	{
		Code: 1, Kind: failure.Usage, is: IsUsage,
		Meaning: "the usage or the configuration is wrong",
		Action:  "correct the command line, the job file or the environment; if the message names a `--memory`, use it",
	},
	{
		Code: 2, status: failure.Defect,
		Meaning: "a defect of rowtocol (Go's runtime also ends a crash with this code)",
		Action:  "report all that rowtocol printed; another version of rowtocol can resume with the same command",
	},
	{
		Code: 3, Kind: failure.Input, is: isInput,
		Meaning: "an input is missing, damaged or not convertible; or a command that reads, such as cat, found a damaged column file or no finished output; the message names the file, and for damage the offset and reason",
		Action:  "look at the named file: restore it, leave it out, or use the flag that the message names",
	},
	{
		Code: 4, Kind: failure.Storage, is: isStorage, retry: true,
		Meaning: "storage or network failed, and a retry may help: a time-out, no reachable HDFS node, a full disk, HDFS in safe mode",
		Action:  "retry with pauses; if that fails, look at the named storage and the free space of `--temp-dir`; if `commit` says that tasks are not done, run them first",
	},
	{
		Code: 5, Kind: failure.Locked, retry: true,
		Meaning: "another run holds the destination: a retry may help",
		Action:  "retry with pauses; `DEST/_lock` names the run",
	},
	{
		Code: 6, Kind: failure.Different,
		Meaning: "`verify` found a difference",
		Action:  "keep the inputs; find out what changed the files, convert with `--overwrite --restart`, and verify again",
	},
	{
		Code: 7, Kind: failure.Refused, is: isRefused,
		Meaning: "storage refuses, and a retry does not help: permission, quota, read-only, missing parent directory, encryption zone, erasure coding; or somebody killed the job of `submit`",
		Action:  "remove the cause, then start the same command again",
	},
	{
		Code: 8, Kind: failure.Losses,
		Meaning: "committed, but with losses that `--on-damage` allowed; a rerun that does nothing ends with 8 again",
		Action:  "decide whether the lost rows matter: `_SUCCESS` and `--json` list the losses",
	},
	{
		Code: 9, Kind: failure.Foreign, is: isForeign,
		Meaning: "the destination holds the output of another request (the message says what differs), or files that rowtocol did not write; a plan of `rowtocol plan` or `submit` no longer fits the destination; or `--output` names an existing file",
		Action:  "name another DEST, repeat the earlier request, replace the output with `--overwrite`, or move away files that rowtocol did not write",
	},
	{
		Code: 130, codes: "129, 130, 143", status: "interrupted", is: isInterrupted, retry: true,
		Meaning: "interrupted by a signal; temporary files are removed, and a rerun resumes",
		Action:  "start the same command again",
	},
}

// priority is the order in which codes are matched with an error: kinds that a package set
// come before kinds that are inferred from a cause.
var priority = []int{130, 1, 6, 8, 5, 9, 3, 4, 7}

// Classify returns the row of the table for an error. An error that matches no row is a defect.
// The loss of a reader is no failure.
func Classify(err error) Exit {
	if err == nil || errors.Is(err, errReaderGone) {
		return byCode(0)
	}
	var d *defect
	if !errors.As(err, &d) {
		for _, code := range priority {
			if e := byCode(code); e.Kind != nil && errors.Is(err, e.Kind) || e.is != nil && e.is(err) {
				return e
			}
		}
	}
	return byCode(2)
}

// ExitCode returns the code for an error. The code of an interruption names the signal.
func ExitCode(err error) int {
	if i := (interrupted{}); errors.As(err, &i) {
		return 128 + int(i.signal)
	}
	return Classify(err).Code
}

func byCode(code int) Exit {
	for _, e := range Exits {
		if e.Code == code {
			return e
		}
	}
	panic(fmt.Sprintf("exit code %d is not in the table", code))
}

// Name returns the status for the JSON object.
func (e Exit) Name() string { return cmp.Or(e.status, failure.Name(e.Kind)) }

// advised is an error with an action of its own.
type advised struct {
	error
	action string
}

func (a *advised) Unwrap() error { return a.error }

// Advise gives an error an action, which the end of a failed run prints in place of that of its exit
// code.
func Advise(err error, action string) error { return &advised{err, action} }

// usageError is wrong use of the command line or a wrong configuration.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// AsUsage turns an error into one of usage.
func AsUsage(err error) error { return &usageError{err} }

// Usagef returns an error of usage.
func Usagef(format string, args ...any) error { return AsUsage(fmt.Errorf(format, args...)) }

// IsUsage reports whether an error is one of usage.
func IsUsage(err error) bool {
	return errors.As(err, new(*usageError)) || errors.As(err, new(*budget.Error)) || errors.Is(err, dataset.ErrQuery) || errors.Is(err, export.ErrNotSimple) || errors.Is(err, lookup.ErrNoIndex) || store.Classify(err) == store.Unsupported
}

func isForeign(err error) bool {
	return !failure.HasKind(err) && (errors.Is(err, manifest.ErrAltered) || store.Classify(err) == store.Exists)
}

func isInput(err error) bool {
	return errors.Is(err, dataset.ErrUnfinished) || !failure.HasKind(err) && (errors.As(err, new(*damage.Error)) || store.Classify(err) == store.NotFound)
}

func isStorage(err error) bool {
	return errors.Is(err, dataset.ErrChanging) || !failure.HasKind(err) && store.Classify(err) == store.Retryable
}

func isRefused(err error) bool {
	return !failure.HasKind(err) && store.Classify(err) == store.Final
}

func isInterrupted(err error) bool {
	return errors.As(err, new(interrupted)) || errors.Is(err, context.Canceled)
}

// Reported is an error in the final JSON object, with its place as far as it is known.
type Reported struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
	File    string `json:"file,omitempty"`
	Column  string `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Block   *int64 `json:"block,omitempty"`
	Row     *int64 `json:"row,omitempty"`
	Offset  *int64 `json:"offset,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// Describe describes an error. It returns nil if there is none.
func Describe(err error) *Reported {
	if err == nil {
		return nil
	}
	f := &Reported{Kind: Classify(err).Name(), Message: err.Error()}
	var d *damage.Error
	if errors.As(err, &d) {
		f.Kind, f.File, f.Column, f.Path, f.Reason = string(d.Kind), d.File, d.Column, d.Path, d.Reason
		f.Block, f.Row, f.Offset = known(d.Block), known(d.Row), known(d.Offset)
	}
	return f
}

func known(n int64) *int64 {
	if n < 0 {
		return nil
	}
	return &n
}

// Label returns the codes of the row.
func (e Exit) Label() string {
	if e.codes != "" {
		return e.codes
	}
	return fmt.Sprint(e.Code)
}

// Retries returns whether a retry may succeed, in a word.
func (e Exit) Retries() string {
	if e.retry {
		return "yes"
	}
	return "no"
}

// ExitHelp returns the table for the help topic of a program.
func (p *Program) ExitHelp() string {
	var s strings.Builder
	for _, e := range Exits {
		indent := strings.Repeat(" ", 12)
		fmt.Fprintf(&s, "  %-8s  %s\n", e.Label(), Wrap(plain(e.Meaning), 63, indent))
		if e.Code != 0 {
			fmt.Fprintf(&s, "%s%s\n", indent, Wrap("retry: "+e.Retries()+"; "+plain(p.action(e)), 66, indent))
		}
	}
	return s.String()
}

// plain returns a text of the table without Markdown.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// exitCodesTopic is the help topic of exit codes, made from the table.
func exitCodesTopic(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit codes mean",
		Long: "The exit code of " + a.program.Name + " says what a scheduler should do next:\n\n" + a.program.ExitHelp() + `
If the program that reads standard output ends early, as head does, that is no
failure. The work continues, and the exit code reports its outcome. A command
that only prints ends then.`,
	}
}
