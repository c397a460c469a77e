package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/job/publish"
)

// timeText writes a time to the second, in UTC.
func timeText(t time.Time) string {
	if t.IsZero() {
		return "unknown"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// holds reports whether a destination has files that rowtocol wrote.
func (r *statusOf) holds() bool {
	return r.Lock != nil || r.Totals.Outputs > 0 || len(r.Unfinished)+len(r.Debris)+len(r.Kept)+len(r.LeftAlone) > 0 || r.Damage != ""
}

func (f *statusCommand) printStatus(r *statusOf) {
	f.Printf("%s\n", r.Dest)
	if !r.holds() {
		f.Printf("holds nothing of rowtocol's\n")
	} else {
		f.printLock(r)
	}
	if r.Totals.Outputs > 0 {
		f.Printf("\n")
		f.printOutputs(r)
	}
	for _, w := range r.Unfinished {
		f.Printf("\nunfinished: %s\n", w.Name)
		f.printWork(&w, w.state())
	}
	if len(r.Debris) > 0 {
		f.Printf("\nleftovers, which the next run or rowtocol clean removes:\n")
		f.printLeftovers(r.Debris)
	}
	if len(r.Kept) > 0 {
		f.Printf("\nreplaced outputs, whose files stay for a time:\n")
		f.printRemovable(r.Kept, true)
	}
	if r.Damage != "" {
		f.Printf("\ndamaged: %s\n", r.Damage)
	}
	if len(r.LeftAlone) > 0 {
		f.Printf("\nfiles of no readable output, which are kept as long as there are files that are not rowtocol's:\n")
		f.printLeftovers(r.LeftAlone)
	}
	f.printForeign(r)
	if r.Request != nil {
		f.printProspect(r.Request)
	}
}

func (f *statusCommand) printForeign(r *statusOf) {
	if n := len(r.Below); n > 0 {
		f.Printf("\n%s below, such as %s: name one of them; only directories key=value are read as one dataset\n", cli.Plural(n, "output"), r.Below[0])
	}
	others := slices.DeleteFunc(slices.Clone(r.Foreign), func(name string) bool { return slices.Contains(r.Below, name) })
	if len(others) > 0 {
		f.Printf("\nnot rowtocol's:\n")
		f.printLines(others)
	}
}

func (f *statusCommand) printLock(r *statusOf) {
	l := r.Lock
	if l == nil {
		f.Printf("not locked\n")
		return
	}
	f.Printf("locked by %s\n", l)
	if l.Holder != "" {
		f.Printf("  holder %s, since %s\n", l.Holder, timeText(l.Since))
	}
	f.Printf("  last sign of life %s\n", timeText(l.Seen))
	if l.Dead {
		f.Printf("  it is dead: the next run takes over at once\n")
	}
}

// state says what will happen to the work of an unfinished run.
func (w *workOf) state() string {
	switch {
	case w.Output != "" && w.Held:
		return "is being published"
	case w.Output != "":
		return "waits to be published, which the next run does first"
	case w.OfTasks == nil && w.Bytes == 0:
		return "nothing is in it: its run has just made it, or was killed then"
	case w.OfTasks == nil:
		return "its plan cannot be read: it will not be resumed"
	}
	return "the same convert or submit resumes it, and rowtocol commit publishes it once all is done"
}

func (f *statusCommand) printWork(w *workOf, state string) {
	if w.OfTasks == nil {
		f.Printf("  %s done, %s", cli.Plural(w.Tasks, "task"), cli.Plural(w.Rows, "row"))
	} else {
		share := 100.0
		if *w.OfInput > 0 {
			share = 100 * float64(w.Input) / float64(*w.OfInput)
		}
		f.Printf("  %d of %s done, %s, %s of %s of input (%.0f %%)", w.Tasks, cli.Plural(*w.OfTasks, "task"), cli.Plural(w.Rows, "row"),
			cli.Human(w.Input), cli.Human(*w.OfInput), share)
	}
	f.Printf("\n  %s, changed %s\n", cli.Human(w.Bytes), timeText(w.Changed))
	if w.PlanID != "" {
		f.Printf("  plan %s\n", w.PlanID)
	}
	if w.Job != nil {
		f.printJob(w.Job)
	}
	f.Printf("  %s\n", state)
}

func (f *statusCommand) printJob(j *jobOf) {
	f.Printf("  job %s of run %s, started %s: %s\n", j.Job, j.Run, timeText(j.At), j.stateText())
	if j.URL != "" {
		f.Printf("    %s\n", j.URL)
	}
}

func (j *jobOf) stateText() string {
	switch {
	case j.Unknown != "":
		return "its state is not known: " + j.Unknown
	case j.Percent > 0 && j.Percent < 100:
		return fmt.Sprintf("%s, %d %%", j.State, j.Percent)
	}
	return j.State
}

func (f *statusCommand) printOutputs(r *statusOf) {
	t := cli.NewTable("output", "rows>", "size>", "inputs>", "parts>", "losses>", "made", "by", "id")
	add := func(name string, o *outputOf) {
		t.Add(name, fmt.Sprint(o.Rows), cli.Human(o.Bytes), strconv.Itoa(o.Inputs), strconv.Itoa(o.Parts), strconv.Itoa(o.Losses), timeText(o.At), o.Version, o.ID)
	}
	if r.Output != nil {
		add("output", r.Output)
	}
	for i := range r.Increments {
		add("increment "+strconv.FormatInt(r.Increments[i].Sequence, 10), &r.Increments[i])
	}
	if s := r.Totals; s.Outputs > 1 {
		t.Add("all", fmt.Sprint(s.Rows), cli.Human(s.Bytes), strconv.Itoa(s.Inputs), strconv.Itoa(s.Parts), strconv.Itoa(s.Losses), "", "", "")
	}
	t.Spare(8, 7)
	t.Print(f.Out, 0, f.Width())
	if all := r.indexes(); len(all) > 0 {
		f.Printf("%s\n", indexText(all))
	}
}

// indexes returns the indexes of the output and its increments, with their sums.
func (r *statusOf) indexes() (all []indexOf) {
	if r.Output != nil {
		all = append(all, r.Output.Indexes...)
	}
	for i := range r.Increments {
		for _, x := range r.Increments[i].Indexes {
			all = x.addTo(all)
		}
	}
	return all
}

func (f *statusCommand) printLeftovers(all []publish.Leftover) {
	t := cli.NewTable("size>", "changed", "name", "")
	for _, l := range all {
		t.Add(cli.Human(l.Bytes), timeText(l.Changed), l.Name, l.What)
	}
	t.Print(f.Out, 2, f.Width())
}

// does describes the actions of convert.
var does = map[string]string{
	job.DoNothing:    "do nothing: what is asked for is there",
	job.Resume:       "go on with %s",
	job.AddIncrement: "add an increment of %s",
	job.PlanAnew:     "plan and convert %s",
	job.Refuse:       "be refused: %s",
}

func (f *statusCommand) printProspect(p *job.Prospect) {
	text := does[p.Does]
	if strings.Contains(text, "%s") {
		object := cli.Plural(p.Inputs, "input")
		switch p.Does {
		case job.Resume:
			object = p.Resumes
		case job.Refuse:
			object = p.Refusal
		}
		text = fmt.Sprintf(text, object)
	}
	f.Printf("\nconvert would %s\n", text)
	if len(p.Differences) > 0 {
		f.Printf("the request differs from that of the output:\n")
		f.printLines(p.Differences)
	}
	for _, name := range slices.Sorted(maps.Keys(p.Unfinished)) {
		f.Printf("it differs from that of %s:\n", name)
		f.printLines(p.Unfinished[name])
	}
}

func (f *statusCommand) printLines(lines []string) {
	for _, line := range lines {
		f.Printf("  %s\n", line)
	}
}

func (f *statusCommand) printTree(r *statusOf) {
	f.Printf("%s: %s\n\n", r.Dest, cli.Plural(len(r.Partitions), "partition"))
	t := cli.NewTable("partition", "increments>", "rows>", "size>", "inputs>", "losses>")
	line := func(name string, s totals, increments int) {
		t.Add(name, strconv.Itoa(increments), fmt.Sprint(s.Rows), cli.Human(s.Bytes), strconv.Itoa(s.Inputs), strconv.Itoa(s.Losses))
	}
	// A table leaves out columns that do not fit a terminal. Notes must not be left out.
	increments, notes := 0, []string{}
	for _, p := range r.Partitions {
		increments += len(p.Increments)
		name := strings.TrimPrefix(strings.TrimPrefix(p.Dest, r.Dest), "/")
		line(name, p.Totals, len(p.Increments))
		if said := p.notes(); said != "" {
			notes = append(notes, name+": "+said)
		}
	}
	line("all", r.Totals, increments)
	t.Print(f.Out, 0, f.Width())
	if len(notes) > 0 {
		f.Printf("\nof these:\n")
		f.printLines(notes)
	}
	f.printForeign(r)
}

// notes returns, in a few words, what a user must know about a partition besides its figures.
func (r *statusOf) notes() string {
	var notes []string
	note := func(is bool, text string) {
		if is {
			notes = append(notes, text)
		}
	}
	note(r.err != nil, "cannot be read")
	note(r.err == nil && !r.holds(), "nothing of rowtocol's")
	note(r.Lock != nil && !r.Lock.Dead, "locked")
	note(r.Lock != nil && r.Lock.Dead, "locked by a dead holder")
	note(len(r.Unfinished) > 0, "unfinished")
	for _, w := range r.Unfinished {
		if w.Job != nil {
			note(true, fmt.Sprintf("job %s (%s)", w.Job.Job, w.Job.stateText()))
		}
	}
	note(len(r.Debris) > 0, "leftovers")
	note(len(r.Kept) > 0, "replaced outputs")
	note(r.Damage != "", "damaged")
	note(len(r.Foreign) > 0, "files that are not rowtocol's")
	return strings.Join(notes, ", ")
}
