package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/rowtocol/rowtocol/budget"
	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/store"
)

// exit is one row of the table of exit codes.
type exit struct {
	code    int
	codes   string // as the table shows it, where that is not code
	name    string // the JSON object's status
	meaning string
	is      func(error) bool
}

// exits is the one table from which exit codes, help and documentation come.
// Its order is the documentation's; priority is the order of the matching.
var exits = []exit{
	{code: 0, name: "done", meaning: "done, or nothing to do (`--exit-nothing N` chooses another code, e.g. Airflow's 99 for \"skipped\")"},
	{code: 1, name: "usage", meaning: "usage or configuration", is: isUsage},
	{code: 2, name: "defect", meaning: "a defect of rowtocol (also Go's own crash code)"},
	{code: 3, name: "input", meaning: "input missing, damaged or not convertible; a damaged column file in cat, inspect, lookup (file, offset and reason are printed)", is: isInput},
	{code: 4, name: "storage", meaning: "storage or network, and a retry may help: time-out, no node, disk full, safe mode", is: isStorage},
	{code: 5, name: "locked", meaning: "another run holds the destination: a retry may help", is: isLocked},
	{code: 6, name: "different", meaning: "`verify` found a difference", is: isDifferent},
	{code: 7, name: "refused", meaning: "storage refuses for good: permission, quota, read-only, missing parent, encryption zone, erasure coding", is: isRefused},
	{code: 8, name: "losses", meaning: "committed, but with losses that `--on-damage` allowed (a no-op rerun says 8 again)", is: isLosses},
	{code: 9, name: "conflict", meaning: "the destination holds something else: another request's output (the message says what differs), or what is not ours", is: isForeign},
	{code: 130, codes: "130, 143", name: "interrupted", meaning: "interrupted: temporary files removed, a rerun resumes", is: isInterrupted},
}

// priority is the order in which codes claim an error: what the packages said
// outright comes before what is inferred from a cause further down.
var priority = []int{130, 1, 6, 8, 5, 9, 3, 4, 7}

// classify returns the table's row for an error. An error that no row claims
// was not foreseen: a defect.
func classify(err error) exit {
	if err == nil {
		return byCode(0)
	}
	var d *defect
	if !errors.As(err, &d) {
		for _, code := range priority {
			if e := byCode(code); e.is(err) {
				return e
			}
		}
	}
	return byCode(2)
}

// exitCode is the code for an error. That of an interruption tells the signal.
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

// usageError is wrong use of the command line or a wrong configuration.
type usageError struct{ err error }

func (u *usageError) Error() string { return u.err.Error() }
func (u *usageError) Unwrap() error { return u.err }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}

func isUsage(err error) bool {
	var u *usageError
	return errors.As(err, &u) || errors.As(err, new(*budget.Error)) || errors.Is(err, failure.Usage) || errors.Is(err, dataset.ErrQuery) || errors.Is(err, export.ErrNotSimple) || store.Classify(err) == store.Unsupported
}

func isDifferent(err error) bool { return errors.Is(err, failure.Different) }

func isLosses(err error) bool { return errors.Is(err, failure.Losses) }

func isLocked(err error) bool { return errors.Is(err, failure.Locked) }

func isForeign(err error) bool {
	return errors.Is(err, failure.Foreign) || !failure.Given(err) && store.Classify(err) == store.Exists
}

func isInput(err error) bool {
	if errors.Is(err, failure.Input) || errors.Is(err, dataset.ErrUnfinished) {
		return true
	}
	var d *damage.Error
	return !failure.Given(err) && (errors.As(err, &d) || store.Classify(err) == store.NotFound)
}

func isStorage(err error) bool {
	return errors.Is(err, failure.Storage) || errors.Is(err, dataset.ErrChanging) || !failure.Given(err) && store.Classify(err) == store.Retryable
}

func isRefused(err error) bool {
	return errors.Is(err, failure.Refused) || !failure.Given(err) && store.Classify(err) == store.Final
}

func isInterrupted(err error) bool {
	var i interrupted
	return errors.As(err, &i) || errors.Is(err, context.Canceled)
}

// reported is an error in the final JSON object, located as far as known.
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
	f := &reported{Kind: classify(err).name, Message: err.Error()}
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

// exitHelp is the table as the help topic shows it, without commands that there are
// not.
func exitHelp() string {
	var s strings.Builder
	for _, e := range exits {
		fmt.Fprintf(&s, "  %-8s  %s\n", e.label(), wrap(strings.NewReplacer("`", "", ", lookup (", " (").Replace(e.meaning), 66, strings.Repeat(" ", 12)))
	}
	return s.String()
}

// exitMarkdown is the table as the documentation shows it.
func exitMarkdown() string {
	var s strings.Builder
	s.WriteString("| exit | meaning |\n|---|---|\n")
	for _, e := range exits {
		fmt.Fprintf(&s, "| %s | %s |\n", e.label(), e.meaning)
	}
	return s.String()
}
