package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/plan"
)

// namedSkipped is the most files that the line about skipped files names for a reason.
const namedSkipped = 3

// tellSkipped logs how many files were skipped, and why. Files that may have been meant as inputs
// count in the figures of the run, but unfinished copies do not: they are inputs of a later run.
func (a *outcomes) tellSkipped(skipped []input.Skipped) {
	if len(skipped) == 0 {
		return
	}
	level := slog.LevelInfo
	counts := make(map[string]int)
	named := make(map[string][]string) // files that the user would look for, by reason
	for _, s := range skipped {
		reason := s.Reason
		switch {
		case strings.HasPrefix(reason, plan.SameContent):
			reason = "a copy of an input"
		case s.Same != "":
			reason = "another name of an input"
		case input.IsExcluded(reason):
			named[reason] = append(named[reason], s.Path)
		case reason != input.Hidden && s.By == nil: // the file may have been meant as an input
			level = slog.LevelWarn
			named[reason] = append(named[reason], s.Path)
			if reason != input.Unfinished {
				a.Run.Skipped++
			}
		}
		counts[reason]++
	}
	var reasons []string
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		text := fmt.Sprintf("%s: %d", reason, counts[reason])
		if names := named[reason]; len(names) > 0 {
			text += ", " + strings.Join(names[:min(len(names), namedSkipped)], ", ")
		}
		reasons = append(reasons, text)
	}
	what := fmt.Sprintf("%d files or directories among the inputs are skipped (%s); convert --dry-run names them", len(skipped), strings.Join(reasons, "; "))
	if len(skipped) == 1 {
		what = fmt.Sprintf("1 file or directory among the inputs is skipped (%s); convert --dry-run names it", reasons[0])
	}
	a.Log.Log(context.Background(), level, what)
}

// tellSame logs the first of the files that are left out because another input has the same
// rows.
func (a *outcomes) tellSame(level slog.Level, skipped []input.Skipped) {
	told := 0
	for _, s := range skipped {
		if s.Same == "" {
			continue
		}
		if told++; told <= cli.Listed {
			a.Log.Log(context.Background(), level, "skipped", "path", s.Path, "reason", s.Reason)
		}
	}
	if more := told - cli.Listed; more > 0 {
		a.Log.Log(context.Background(), level, fmt.Sprintf("skipped: and %d more that are other names, or copies, of inputs", more))
	}
}

// listSkipped logs the first of the skipped files.
func (a *app) listSkipped(message string, skipped []input.Skipped) {
	listFirst(a, message, skipped, func(s input.Skipped) []any { return []any{"path", s.Path, "reason", s.Reason} })
}

// listFirst warns of the first few of all, each with its attributes, and of the number of the
// remaining ones.
func listFirst[T any](a *app, message string, all []T, attrs func(T) []any) {
	for _, of := range all[:min(len(all), cli.Listed)] {
		a.Log.Warn(message, attrs(of)...)
	}
	if more := len(all) - cli.Listed; more > 0 {
		a.Log.Warn(fmt.Sprintf("%s: and %d more, which --json names", message, more))
	}
}
