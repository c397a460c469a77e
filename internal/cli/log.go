package cli

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
	level, Format  string
	Quiet, Verbose bool
	every          time.Duration // time between the lines of progress
}

var (
	logLevels  = []string{"debug", "info", "warn", "error"}
	logFormats = []string{"auto", "text", "json"}
)

func (f *logFlags) add(flags *pflag.FlagSet) {
	f.level, f.Format = "info", "auto"
	flags.StringVar(&f.level, "log-level", f.level, "`level` of messages: debug, info, warn or error")
	flags.StringVar(&f.Format, "log-format", f.Format, "`format` of messages: text, json, or auto, which is short messages on a terminal, and elsewhere json with text for people at the end of a failed run")
	flags.Var((*TimeSpan)(&f.every), "progress-every", "time between the lines of progress in the log")
	flags.BoolVarP(&f.Quiet, "quiet", "q", false, "print only warnings and errors, and no summary")
	flags.BoolVarP(&f.Verbose, "verbose", "v", false, "print a message for each task and each published file, too")
}

// settle checks the flags, and decides between flags that contradict each other. The command
// line comes before the environment, and the environment before the job file.
func (a *App) settle() (slog.Level, error) {
	f := &a.Logs
	if err := cmp.Or(CheckChoice("log-level", strings.ToLower(f.level), logLevels), CheckChoice("log-format", f.Format, logFormats)); err != nil {
		return 0, err
	}
	//guard: refuses a log that is all progress
	if f.every < leastEvery {
		return 0, Usagef("--progress-every must be at least %v", leastEvery)
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
	quiet, verbose, level := rank("quiet", f.Quiet), rank("verbose", f.Verbose), rank("log-level", a.Flags.Changed("log-level"))
	best := min(quiet, verbose, level)
	f.Quiet, f.Verbose = f.Quiet && quiet == best, f.Verbose && verbose == best
	var chosen slog.Level
	if err := chosen.UnmarshalText([]byte(f.level)); err != nil {
		return 0, AsUsage(err)
	}
	if level > best {
		chosen = slog.LevelInfo
	}
	switch {
	case f.Quiet && f.Verbose:
		return 0, Usagef("--quiet contradicts --verbose")
	case f.Quiet && level == best && chosen < slog.LevelWarn:
		return 0, Usagef("--log-level contradicts --quiet, which is warn")
	case f.Verbose && level == best && chosen > slog.LevelDebug:
		return 0, Usagef("--log-level contradicts --verbose, which is debug")
	case f.Quiet:
		chosen = max(chosen, slog.LevelWarn)
	case f.Verbose:
		chosen = slog.LevelDebug
	}
	return chosen, nil
}

// openLog makes the log with the level and format of the flags.
func (a *App) openLog() error {
	level, err := a.settle()
	if err != nil {
		return err
	}
	a.Console.quiet = a.Logs.Quiet
	a.Console.People = a.Console.terminal && a.Logs.Format == "auto"
	a.Log = a.Console.Logger(level, a.Logs.Format)
	if !a.ForPeople() {
		a.Log = a.Log.With("run", a.Run.ID)
	}
	return nil
}

// ForPeople reports whether messages are for people at a terminal who did not ask for the
// log.
func (a *App) ForPeople() bool { return a.Console.People && !a.Logs.Verbose }

const (
	// lineEvery is the time between the lines of progress in the log, unless a flag sets it.
	lineEvery = time.Minute
	// leastEvery is the shortest such time.
	leastEvery = 100 * time.Millisecond
)

// journal logs the start, the progress and the end of a run. It also logs that there was no
// progress. On a terminal, the progress line and the summary replace it, except with
// --verbose. It is safe for concurrent use.
type journal struct {
	mu       sync.Mutex
	log      *slog.Logger
	progress *Progress // nil before the first progress
	finished chan struct{}
	stopped  sync.WaitGroup
}

// LogStart logs the start of a command that has a journal.
func (a *App) LogStart(attrs ...any) {
	if a.ForPeople() {
		return
	}
	j := &journal{log: a.Log, finished: make(chan struct{})}
	a.journal = j
	a.Log.Info(a.Command+" begins", append(attrs, "version", a.Run.Version, "workers", a.Workers, "memory", int64(a.Memory), "temp_dir", a.TempDir)...)
	if a.Console.terminal {
		return
	}
	j.stopped.Go(func() {
		tick := time.NewTicker(a.Logs.every)
		defer tick.Stop()
		last := progressState{at: a.Run.Began}
		for {
			select {
			case <-j.finished:
				return
			case now := <-tick.C:
				last = j.tell(now, a.Run.Began, last)
			}
		}
	})
}

// Listed is the most files that messages name. The final JSON object names all files.
const Listed = 10

// InputsAttr returns the attribute of the inputs in the log's first line: the first few inputs,
// and their number. An attribute has the same type in all lines, so that logs can be indexed.
func InputsAttr(inputs []string) slog.Attr {
	return slog.Group("", slog.Any("from", Shown(inputs[:min(len(inputs), Listed)])), slog.Int("arguments", len(inputs)))
}

// Shown returns locations without their secrets.
func Shown(locations []string) []string {
	all := make([]string, len(locations))
	for i, l := range locations {
		all[i] = store.Showable(l)
	}
	return all
}

// About adds a plan to all lines of the log, and the task if there is one.
func (a *App) About(p *manifest.Plan, tasks []int) {
	a.Run.Dest = p.Dest
	if a.ForPeople() {
		return
	}
	a.Log, a.toldPlan = a.Log.With("plan", p.ID), true
	if len(tasks) == 1 {
		a.Log, a.toldTask = a.Log.With("task", tasks[0]), true
	}
	a.journal.mu.Lock()
	defer a.journal.mu.Unlock()
	a.journal.log = a.Log
}

// follow makes the log report progress.
func (a *App) follow(p *Progress) {
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
	waiting           string
}

// tell logs the present progress, and returns it.
func (j *journal) tell(now, began time.Time, last progressState) progressState {
	j.mu.Lock()
	log, p := j.log, j.progress
	j.mu.Unlock()
	if p == nil {
		p = new(Progress)
	}
	s := p.state(now)
	if s.moved = now; s.sameWork(&last) {
		s.moved = cmp.Or(last.moved, began)
	}
	if s.waiting != "" {
		s.moved = now // the time in a queue is no lack of progress
		log.Info("waiting", "for", s.waiting, "tasks", s.ofTasks, "seconds", int64(now.Sub(began).Seconds()))
		return s
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
func (a *App) end(err error) {
	j := a.journal
	if j == nil {
		return
	}
	a.journal = nil
	close(j.finished)
	j.stopped.Wait()
	if p := j.progress; p != nil && err != nil && a.Run.Files == 0 && p.state(a.Run.Ended).bytes > 0 {
		// Only the work under way is known.
		j.tell(a.Run.Ended, a.Run.Began, progressState{at: a.Run.Began})
	}
	r := a.Run
	attrs := []any{"dest", r.Dest, "inputs", len(r.Inputs), "input_bytes", r.InputBytes, "rows", r.Rows, "bytes", r.Bytes,
		"files", r.Files, "tasks", r.Tasks, "resumed_tasks", r.Resumed, "losses", r.Losses, "lost_rows", r.LostRows,
		"seconds", a.Figures.Seconds, "bytes_per_second", a.Figures.Rate, "peak_memory", r.PeakMemory, "version", r.Version}
	if r.OutputID != "" {
		attrs = append(attrs, "output", r.OutputID)
	}
	a.Log.Info(a.Command+" ended", append(attrs, "exit", r.Exit, "status", r.Status)...)
}

// TaskAttrs returns the attributes of a task and its plan, unless all lines have them.
func (a *App) TaskAttrs(plan string, task int) (attrs []any) {
	if !a.toldPlan {
		attrs = append(attrs, "plan", plan)
	}
	if !a.toldTask {
		attrs = append(attrs, "task", task)
	}
	return attrs
}

// ofFailed returns the log. If a task failed, the lines of the log have its number.
func (a *App) ofFailed(err error) *slog.Logger {
	if f := (*task.Failure)(nil); errors.As(err, &f) {
		return a.Log.With(a.TaskAttrs(f.Plan, f.Task)...)
	}
	return a.Log
}
