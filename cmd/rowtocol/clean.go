package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/publish"
	"github.com/rowtocol/rowtocol/store"
)

const cleanLong = `Remove leftovers of dead runs from DEST. clean removes useless leftovers, such
as temporary files, immediately. Unfinished work may still be of use: the same
convert or submit resumes it, and commit may publish it. clean removes
unfinished work only if nothing in it has changed for the time of --older-than,
by the clock of DEST's storage. By the same clock it removes replaced outputs
once the time of --keep-replaced is over. clean never removes an output, or an
increment of the present output. If a run died while it published an output,
clean publishes the output, as the next run would.

clean takes the lock of DEST. If another run holds the lock and is alive, the
exit code is 5. clean never touches files that rowtocol did not write: if DEST
has any, it cleans only DEST/.rowtocol, and the exit code is 9. In a tree of
directories named key=value it cleans every partition.

--dry-run takes no lock and changes nothing: it lists what clean could remove,
and from what time on. It does not say whether that time has passed: to read
the clock of the storage, it would have to write a file.`

const cleanExample = `  rowtocol clean --dry-run /data/mail.columns
  rowtocol clean /data/mail.columns

  # all unfinished work, now
  rowtocol clean --older-than 0 /data/mail.columns`

// week is the default time for which unfinished work is kept.
const week = 7 * 24 * time.Hour

// cleaned is the result of clean in the final JSON object. The result for a tree has a cleaned
// for each partition.
type cleaned struct {
	Dest string `json:"dest"`
	// Removed lists what was removed, or with --dry-run what could be removed.
	Removed []removable `json:"removed"`
	// Kept lists work that changed too recently, and replaced outputs whose time is not over.
	Kept       []removable   `json:"kept"`
	Bytes      int64         `json:"bytes"` // bytes of Removed
	DryRun     bool          `json:"dry_run"`
	Partitions []*cleaned    `json:"partitions,omitempty"`
	Error      *cli.Reported `json:"error,omitempty"` // error of a partition
}

// removable is a leftover with the time from which clean removes it.
type removable struct {
	publish.Leftover
	// From is the time from which clean may remove the leftover, by the clock of the
	// storage. Zero means now.
	From time.Time `json:"removable_from,omitzero"`
}

// cleanCommand is rowtocol clean.
type cleanCommand struct {
	*app
	age    time.Duration // least age of unfinished work that is removed
	dryRun bool
}

func newCleanCommand(a *app) *cobra.Command {
	f := &cleanCommand{app: a, age: week}
	cmd := &cobra.Command{
		Use:     "clean DEST",
		Short:   "Remove leftovers of dead runs and of plans",
		Long:    cleanLong,
		Example: cleanExample,
		Args:    a.Takes(cobra.ExactArgs(1)),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.execute(cmd.Context(), args[0]) },
	}
	flags := cmd.Flags()
	flags.Var((*cli.TimeSpan)(&f.age), "older-than", "remove unfinished work only if it has not changed for this long")
	flags.BoolVar(&f.dryRun, "dry-run", false, "list what clean could remove, and remove nothing")
	return cmd
}

func (f *cleanCommand) execute(ctx context.Context, dest string) error {
	at, err := input.Locate(f.Resolve, dest)
	if err != nil {
		return err
	}
	tree, err := publish.FindTree(ctx, at)
	if err != nil {
		return err
	}
	if tree == nil {
		c, err := f.cleanOne(ctx, dest, at)
		f.Result = c
		return err
	}
	all := &cleaned{Dest: dest, Removed: []removable{}, Kept: []removable{}, DryRun: f.dryRun}
	f.Result = all
	var worst worstOf
	for _, partition := range tree.Partitions {
		name := below(dest, at, partition)
		c, err := f.cleanOne(ctx, name, partition)
		if ctx.Err() != nil {
			return err
		}
		if err != nil {
			c.Error = cli.Describe(err)
			f.say("%s: %v\n", name, err)
		}
		worst.add(name, err)
		all.Bytes += c.Bytes
		all.Partitions = append(all.Partitions, c)
	}
	return worst.err
}

// cleanOne cleans a destination. It returns what it removed, also with an error.
func (f *cleanCommand) cleanOne(ctx context.Context, dest string, at store.Location) (*cleaned, error) {
	d := publish.At(at, publish.Options{})
	c := &cleaned{Dest: dest, Removed: []removable{}, Kept: []removable{}, DryRun: f.dryRun}
	var err error
	if f.dryRun {
		err = f.wouldClean(ctx, d, c)
	} else {
		var done *publish.Cleaned
		if done, err = d.Clean(ctx, f.age); done != nil {
			c.Removed, c.Kept = dated(done.Removed, 0), dated(done.Kept, f.age)
		}
	}
	for _, r := range c.Removed {
		c.Bytes += r.Bytes
	}
	if !f.JSON && (f.dryRun || !f.Logs.Quiet) && (err == nil || errors.Is(err, failure.Foreign)) {
		f.printCleaned(c)
	}
	return c, err
}

// wouldClean records what clean could remove.
func (f *cleanCommand) wouldClean(ctx context.Context, d *publish.Destination, c *cleaned) error {
	s, err := d.Status(ctx)
	if err != nil {
		return err
	}
	c.Removed = dated(slices.Concat(s.Leftovers(), s.Kept), f.age)
	if l := s.Lock; l != nil && !l.Dead {
		f.Log.Warn("clean would be refused (exit 5) while the holder of the lock lives: " + l.String())
	}
	return s.CheckForeign()
}

// dated returns leftovers with the time from which they can be removed.
func dated(all []publish.Leftover, age time.Duration) []removable {
	list := make([]removable, len(all))
	for i, l := range all {
		list[i].Leftover = l
		list[i].From = l.Until
		if l.Useful() && age > 0 {
			list[i].From = l.Changed.Add(age)
		}
	}
	return list
}

func (f *cleanCommand) printCleaned(c *cleaned) {
	verb := "removed"
	if c.DryRun {
		verb = "could be removed"
	}
	if len(c.Removed) == 0 {
		f.Printf("%s: nothing %s\n", c.Dest, verb)
	} else {
		f.Printf("%s: %s %s, %s\n", c.Dest, cli.Plural(len(c.Removed), "leftover"), verb, cli.Human(c.Bytes))
		f.printRemovable(c.Removed, c.DryRun)
	}
	if len(c.Kept) > 0 {
		f.Printf("kept for now:\n")
		f.printRemovable(c.Kept, true)
	}
}

// printRemovable prints leftovers, and when they can be removed if they are still there.
func (a *app) printRemovable(all []removable, there bool) {
	for _, r := range all {
		a.Printf("  %8s  %s: %s, changed %s", cli.Human(r.Bytes), r.Name, r.What, timeText(r.Changed))
		if !there || r.From.IsZero() {
			a.Printf("\n")
		} else {
			a.Printf("; clean removes it from %s on\n", timeText(r.From))
		}
	}
}
