package main

import (
	"cmp"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// logFlags holds the flags for messages.
type logFlags struct {
	level, format  string
	quiet, verbose bool
}

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"auto", "text", "json"}
)

func (f *logFlags) add(flags *pflag.FlagSet) {
	f.level, f.format = "info", "auto"
	flags.StringVar(&f.level, "log-level", f.level, "`level` of messages: debug, info, warn or error")
	flags.StringVar(&f.format, "log-format", f.format, "`format` of messages: text, json, or auto, which is short messages on a terminal and json elsewhere")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "print only warnings and errors, and no summary")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "print a message for each task and each published file, too")
}

// settle checks the flags, and decides between flags that contradict each other. The command
// line comes before the environment, and the environment before the job file.
func (a *app) settle() (slog.Level, error) {
	f := &a.logs
	if err := cmp.Or(checkChoice("log-level", strings.ToLower(f.level), logLevels), checkChoice("log-format", f.format, logFormats)); err != nil {
		return 0, err
	}
	rank := func(flag string, given bool) int {
		s, elsewhere := a.origins[flag]
		switch {
		case !given:
			return 3
		case !elsewhere:
			return 0
		case s.line == 0:
			return 1
		}
		return 2
	}
	quiet, verbose, level := rank("quiet", f.quiet), rank("verbose", f.verbose), rank("log-level", a.flags.Changed("log-level"))
	best := min(quiet, verbose, level)
	f.quiet, f.verbose = f.quiet && quiet == best, f.verbose && verbose == best
	var chosen slog.Level
	if err := chosen.UnmarshalText([]byte(f.level)); err != nil {
		return 0, asUsage(err)
	}
	if level > best {
		chosen = slog.LevelInfo
	}
	switch {
	case f.quiet && f.verbose:
		return 0, usagef("--quiet contradicts --verbose")
	case f.quiet && level == best && chosen < slog.LevelWarn:
		return 0, usagef("--log-level contradicts --quiet, which is warn")
	case f.verbose && level == best && chosen > slog.LevelDebug:
		return 0, usagef("--log-level contradicts --verbose, which is debug")
	case f.quiet:
		chosen = max(chosen, slog.LevelWarn)
	case f.verbose:
		chosen = slog.LevelDebug
	}
	return chosen, nil
}

// openLog makes the log with the level and format of the flags.
func (a *app) openLog() error {
	level, err := a.settle()
	if err != nil {
		return err
	}
	a.console.quiet = a.logs.quiet
	a.console.people = a.console.terminal && a.logs.format == "auto"
	a.log = a.console.logger(level, a.logs.format)
	if !a.forPeople() {
		a.log = a.log.With("run", a.run.ID)
	}
	return nil
}

// forPeople reports whether messages are for people at a terminal who did not ask for the
// log.
func (a *app) forPeople() bool { return a.console.people && !a.logs.verbose }

// lineEvery is the time between the lines of progress in the log.
const lineEvery = time.Minute

// journal logs the start, the progress and the end of a run. It also logs that there was no
// progress. On a terminal, the progress line and the summary replace it, except with
// --verbose. It is safe for concurrent use.
type journal struct {
	mu       sync.Mutex
	log      *slog.Logger
	progress *progress // nil before the first progress
	finished chan struct{}
	stopped  sync.WaitGroup
}

// start logs the start of a command that has a journal.
func (a *app) start(attrs ...any) {
	if a.forPeople() {
		return
	}
	j := &journal{log: a.log, finished: make(chan struct{})}
	a.journal = j
	a.log.Info(a.command+" begins", append(attrs, "version", a.run.Version, "workers", a.workers, "memory", int64(a.memory), "temp_dir", a.tempDir)...)
	if a.console.terminal {
		return
	}
	j.stopped.Go(func() {
		tick := time.NewTicker(lineEvery)
		defer tick.Stop()
		last := progressState{at: a.run.Began}
		for {
			select {
			case <-j.finished:
				return
			case now := <-tick.C:
				last = j.tell(now, a.run.Began, last)
			}
		}
	})
}

// listed is the most files that messages name. The final JSON object names all files.
const listed = 10

// named returns the attribute of the inputs in the log's first line: the first few inputs,
// and their number. An attribute has the same type in all lines, so that logs can be indexed.
func named(inputs []string) slog.Attr {
	return slog.Group("", slog.Any("from", shown(inputs[:min(len(inputs), listed)])), slog.Int("arguments", len(inputs)))
}

// shown returns locations without their secrets.
func shown(locations []string) []string {
	all := make([]string, len(locations))
	for i, l := range locations {
		all[i] = store.Showable(l)
	}
	return all
}

// about adds a plan to all lines of the log, and the task if there is one.
func (a *app) about(p *manifest.Plan, tasks []int) {
	a.run.Dest = p.Dest
	if a.forPeople() {
		return
	}
	a.log, a.toldPlan = a.log.With("plan", p.ID), true
	if len(tasks) == 1 {
		a.log, a.toldTask = a.log.With("task", tasks[0]), true
	}
	a.journal.mu.Lock()
	defer a.journal.mu.Unlock()
	a.journal.log = a.log
}

// follow makes the log report progress.
func (a *app) follow(p *progress) {
	if j := a.journal; j != nil {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.progress = p
	}
}

// progressState is the progress of the work at a time.
type progressState struct {
	at                time.Time
	moved             time.Time // time of the last change
	rows, bytes, done int64
	total             int64
	tasks, ofTasks    int64
}

// tell logs the present progress, and returns it.
func (j *journal) tell(now, began time.Time, last progressState) progressState {
	j.mu.Lock()
	log, p := j.log, j.progress
	j.mu.Unlock()
	if p == nil {
		p = new(progress)
	}
	s := p.state(now)
	if s.moved = now; s.sameWork(&last) {
		s.moved = cmp.Or(last.moved, began)
	}
	attrs := []any{"rows", s.rows, "bytes_read", s.bytes}
	if s.ofTasks > 0 {
		attrs = append(attrs, "tasks_done", s.tasks, "tasks", s.ofTasks)
	}
	if s.total > 0 {
		attrs = append(attrs, "percent", 100*s.done/s.total)
	}
	attrs = append(attrs, "bytes_per_second", max(int64(float64(s.bytes-last.bytes)/now.Sub(last.at).Seconds()), 0),
		"seconds", int64(now.Sub(began).Seconds()))
	if left := p.left(now); left > 0 {
		attrs = append(attrs, "seconds_left", int64(left.Seconds()))
	}
	if idle := now.Sub(s.moved); idle > 0 {
		attrs = append(attrs, "seconds_without_progress", int64(idle.Seconds()))
	}
	log.Info("progress", attrs...)
	return s
}

// sameWork reports whether the work done is the same in two states.
func (s *progressState) sameWork(last *progressState) bool {
	return s.rows == last.rows && s.bytes == last.bytes && s.done == last.done && s.tasks == last.tasks
}

// end logs the end of the run. The account of the run is closed before.
func (a *app) end(err error) {
	j := a.journal
	if j == nil {
		return
	}
	a.journal = nil
	close(j.finished)
	j.stopped.Wait()
	if p := j.progress; p != nil && err != nil && a.run.Files == 0 && p.state(a.run.Ended).bytes > 0 {
		// Only the work under way is known.
		j.tell(a.run.Ended, a.run.Began, progressState{at: a.run.Began})
	}
	r := a.run
	attrs := []any{"dest", r.Dest, "inputs", len(r.Inputs), "input_bytes", r.InputBytes, "rows", r.Rows, "bytes", r.Bytes,
		"files", r.Files, "tasks", r.Tasks, "resumed_tasks", r.Resumed, "losses", r.Losses, "lost_rows", r.LostRows,
		"seconds", a.figures.Seconds, "bytes_per_second", a.figures.Rate, "peak_memory", r.PeakMemory, "version", r.Version}
	if r.OutputID != "" {
		attrs = append(attrs, "output", r.OutputID)
	}
	a.log.Info(a.command+" ended", append(attrs, "exit", r.Exit, "status", r.Status)...)
}

// ofTask returns the attributes of a task and its plan, unless all lines have them.
func (a *app) ofTask(plan string, task int) (attrs []any) {
	if !a.toldPlan {
		attrs = append(attrs, "plan", plan)
	}
	if !a.toldTask {
		attrs = append(attrs, "task", task)
	}
	return attrs
}

// ofFailed returns the log. If a task failed, the lines of the log have its number.
func (a *app) ofFailed(err error) *slog.Logger {
	if f := (*task.Failure)(nil); errors.As(err, &f) {
		return a.log.With(a.ofTask(f.Plan, f.Task)...)
	}
	return a.log
}
