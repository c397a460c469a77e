package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// exit is one row of the table of exit codes.
type exit struct {
	code    int
	codes   string // label in the table; empty if the label is code
	status  string // status in the JSON object; empty if the status is the name of kind
	kind    error  // kind of package failure, or nil
	meaning string
	retry   bool             // whether a retry may succeed
	action  string           // what the user should do
	is      func(error) bool // matches errors of other kinds; nil if there are none
}

// exits is the table of exit codes for the program, its help and the documentation, in the
// order of the documentation. The order of matching is priority.
var exits = []exit{
	{
		code: 0, status: "done",
		meaning: "done, or nothing to do (`--exit-nothing N` chooses another code, e.g. Airflow's 99 for \"skipped\")",
		action:  "nothing",
	},
	{
		code: 1, kind: failure.Usage, is: isUsage,
		meaning: "the usage or the configuration is wrong",
		action:  "correct the command line, the job file or the environment; if the message names a `--memory`, use it",
	},
	{
		code: 2, status: failure.Defect,
		meaning: "a defect of rowtocol (Go's runtime also ends a crash with this code)",
		action:  "report all that rowtocol printed; another version of rowtocol can resume with the same command",
	},
	{
		code: 3, kind: failure.Input, is: isInput,
		meaning: "an input is missing, damaged or not convertible; or a command that reads, such as cat, found a damaged column file or no finished output; the message names the file, and for damage the offset and reason",
		action:  "look at the named file: restore it, leave it out, or add `--on-damage`, `--schema` or `--allow-empty`",
	},
	{
		code: 4, kind: failure.Storage, is: isStorage, retry: true,
		meaning: "storage or network failed, and a retry may help: a time-out, no reachable HDFS node, a full disk, HDFS in safe mode",
		action:  "retry with pauses; if that fails, look at the named storage and the free space of `--temp-dir`; if `commit` says that tasks are not done, run them first",
	},
	{
		code: 5, kind: failure.Locked, retry: true,
		meaning: "another run holds the destination: a retry may help",
		action:  "retry with pauses; `DEST/_lock` names the run",
	},
	{
		code: 6, kind: failure.Different,
		meaning: "`verify` found a difference",
		action:  "keep the inputs; find out what changed the files, convert with `--overwrite --restart`, and verify again",
	},
	{
		code: 7, kind: failure.Refused, is: isRefused,
		meaning: "storage refuses, and a retry does not help: permission, quota, read-only, missing parent directory, encryption zone, erasure coding",
		action:  "remove the cause, then start the same command again",
	},
	{
		code: 8, kind: failure.Losses,
		meaning: "committed, but with losses that `--on-damage` allowed; a rerun that does nothing ends with 8 again",
		action:  "decide whether the lost rows matter: `_SUCCESS` and `--json` list the losses",
	},
	{
		code: 9, kind: failure.Foreign, is: isForeign,
		meaning: "the destination holds the output of another request (the message says what differs), or files that rowtocol did not write; a plan of `rowtocol plan` or `submit` no longer fits the destination; or `--output` names an existing file",
		action:  "name another DEST, repeat the earlier request, replace the output with `--overwrite`, or move away files that rowtocol did not write",
	},
	{
		code: 130, codes: "129, 130, 143", status: "interrupted", is: isInterrupted, retry: true,
		meaning: "interrupted by a signal; temporary files are removed, and a rerun resumes",
		action:  "start the same command again",
	},
}

// priority is the order in which codes are matched with an error: kinds that a package set
// come before kinds that are inferred from a cause.
var priority = []int{130, 1, 6, 8, 5, 9, 3, 4, 7}

// classify returns the row of the table for an error. An error that matches no row is a defect.
func classify(err error) exit {
	if err == nil {
		return byCode(0)
	}
	var d *defect
	if !errors.As(err, &d) {
		for _, code := range priority {
			if e := byCode(code); e.kind != nil && errors.Is(err, e.kind) || e.is != nil && e.is(err) {
				return e
			}
		}
	}
	return byCode(2)
}

// exitCode returns the code for an error. The code of an interruption names the signal.
func exitCode(err error) int {
	if i := (interrupted{}); errors.As(err, &i) {
		return 128 + int(i.signal)
	}
	return classify(err).code
}

func byCode(code int) exit {
	for _, e := range exits {
		if e.code == code {
			return e
		}
	}
	panic(fmt.Sprintf("exit code %d is not in the table", code))
}

// name returns the status for the JSON object.
func (e exit) name() string { return cmp.Or(e.status, failure.Name(e.kind)) }

// usageError is wrong use of the command line or a wrong configuration.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

// asUsage turns an error into one of usage.
func asUsage(err error) error { return &usageError{err} }

func usagef(format string, args ...any) error { return asUsage(fmt.Errorf(format, args...)) }

func isUsage(err error) bool {
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

// reported is an error in the final JSON object, with its place as far as it is known.
type reported struct {
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

func describe(err error) *reported {
	if err == nil {
		return nil
	}
	f := &reported{Kind: classify(err).name(), Message: err.Error()}
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

func (e exit) label() string {
	if e.codes != "" {
		return e.codes
	}
	return fmt.Sprint(e.code)
}

func (e exit) retries() string {
	if e.retry {
		return "yes"
	}
	return "no"
}

// exitHelp returns the table for the help topic.
func exitHelp() string {
	var s strings.Builder
	for _, e := range exits {
		indent := strings.Repeat(" ", 12)
		fmt.Fprintf(&s, "  %-8s  %s\n", e.label(), wrap(plain(e.meaning), 63, indent))
		if e.code != 0 {
			fmt.Fprintf(&s, "%s%s\n", indent, wrap("retry: "+e.retries()+"; "+plain(e.action), 66, indent))
		}
	}
	return s.String()
}

// plain returns a text of the table without Markdown.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }
