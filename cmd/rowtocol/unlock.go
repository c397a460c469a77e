package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/publish"
)

const unlockLong = `Take the lock of DEST away from a holder that you know to be dead, so that the
next run need not wait 120 seconds for it. The holder is the run that has the
lock; rowtocol status prints its ID. unlock first watches for a sign of life for
15 seconds, unless the holder's process ran on this machine and has ended. If
the holder gives a sign of life, or if another run has the lock by now, the exit
code is 5.

If the holder is alive after all, nothing is lost. Before its next change the
holder notices that it has lost the lock, and ends with exit code 5. The next
run resumes the work that the holder finished.`

// unlocked is the result of unlock in the final JSON object.
type unlocked struct {
	Dest     string `json:"dest"`
	Unlocked bool   `json:"unlocked"` // a lock was taken away
	publish.Lock
}

// unlockCommand is rowtocol unlock.
type unlockCommand struct {
	*app
	holder string
}

func newUnlockCommand(a *app) *cobra.Command {
	c := &unlockCommand{app: a}
	cmd := &cobra.Command{
		Use:   "unlock DEST --holder ID",
		Short: "Take the lock away from a dead holder",
		Long:  unlockLong,
		Example: `  rowtocol status /data/mail.columns
  rowtocol unlock /data/mail.columns --holder 0123456789abcdef`,
		Args: a.Takes(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error { return c.execute(cmd.Context(), args[0]) },
	}
	cmd.Flags().StringVar(&c.holder, "holder", "", "`ID` of the holder, as rowtocol status prints it")
	return cmd
}

func (c *unlockCommand) execute(ctx context.Context, dest string) error {
	if !manifest.IsID(c.holder) {
		return cli.Usagef("--holder: name the holder by its ID, as rowtocol status prints it: 16 digits and letters from a to f")
	}
	at, err := input.Locate(c.Resolve, dest)
	if err != nil {
		return err
	}
	l, err := publish.At(at, publish.Options{}).Unlock(ctx, c.holder)
	if err != nil {
		return err
	}
	r := unlocked{Dest: dest}
	r.Holder = c.holder
	c.Result = &r
	if l == nil {
		c.say("%s is not locked: there is nothing to do\n", dest)
		return nil
	}
	r.Unlocked, r.Lock = true, *l
	why := "which gave no sign of life"
	if l.Dead {
		why = "which is dead"
	}
	c.say("%s: took the lock away from %s, %s; its last sign of life was at %s\n", dest, l, why, timeText(l.Seen))
	return nil
}

// say prints a sentence, unless --json is given.
func (a *app) say(format string, args ...any) {
	if !a.JSON {
		a.Printf(format, args...)
	}
}
