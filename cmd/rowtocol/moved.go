package main

import (
	"strings"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// addMoved adds the flag for inputs that DEST knows under other names.
func addMoved(flags *pflag.FlagSet, moved *[]string) {
	flags.StringArrayVar(moved, "moved", nil, "`OLD=NEW`: the inputs of DEST that were below OLD are now below NEW; OLD and NEW are directories, or roots of clusters; repeatable")
}

// newPlace matches the start of a pair's second path: paths may contain =.
var newPlace = lazyregexp.New(`=(/|[A-Za-z][A-Za-z0-9+.-]*:/)`)

// moves returns the pairs of --moved, with locations in the form of documents. It does not
// change an old location that cannot be reached.
func (a *outcomes) moves(pairs []string) (moves []manifest.Move, err error) {
	for _, pair := range pairs {
		from, to, ok := strings.Cut(pair, "=")
		if at := newPlace.FindStringIndex(pair); at != nil {
			from, to = pair[:at[0]], pair[at[0]+1:]
		}
		if !ok || from == "" || to == "" {
			return nil, cli.Usagef("--moved %s: write OLD=NEW", pair)
		}
		if at, err := input.Locate(a.Resolve, from); err == nil {
			from = at.Origin + at.Path
		}
		at, err := input.Locate(a.Resolve, to)
		if err != nil {
			return nil, cli.Usagef("--moved %s: %w", pair, err)
		}
		moves = append(moves, manifest.Move{From: from, To: at.Origin + at.Path})
	}
	return moves, nil
}
