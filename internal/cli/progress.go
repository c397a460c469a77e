package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/rowtocol/rowtocol/store"
)

// console is standard error. It has log lines, and on a terminal one progress line below
// them, which is redrawn. It is safe for concurrent use.
type console struct {
	program  *Program
	mu       sync.Mutex
	file     *os.File
	terminal bool
	redraws  bool // standard error is a terminal that can clear a line
	People   bool // messages are for people
	quiet    bool // progress is not shown
	escaper  escaper
	line     string // the progress line on the screen
}

func newConsole(p *Program, f *os.File) *console {
	terminal := term.IsTerminal(int(f.Fd()))
	return &console{program: p, file: f, terminal: terminal, People: terminal, redraws: terminal && os.Getenv("TERM") != "dumb"}
}

// Write prints whole lines above the progress line. On a terminal it escapes them as screen
// does.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.terminal {
		return c.file.Write(p)
	}
	text := c.escaper.escape(p)
	if c.line != "" {
		text = slices.Concat([]byte("\r\x1b[K"), text, []byte(c.line))
	}
	if _, err := c.file.Write(text); err != nil {
		return 0, err
	}
	return len(p), nil
}

// show replaces the progress line. If line is empty, show removes the progress line.
func (c *console) show(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.redraws || line == c.line {
		return
	}
	c.line = line
	// A failure to draw progress does not stop the work.
	_, _ = c.file.WriteString("\r\x1b[K" + line)
}

func (c *console) clear() { c.show("") }

// width returns the columns of the terminal.
func (c *console) width() int {
	if w, _, err := term.GetSize(int(c.file.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// Logger returns a log that writes text or JSON. With the format auto, it writes text without
// times if messages are for people, and otherwise JSON. Times are UTC.
func (c *console) Logger(level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			switch {
			case len(groups) > 0 || a.Key != slog.TimeKey:
				return redacted(a)
			case c.People:
				return slog.Attr{}
			}
			return slog.Time(slog.TimeKey, a.Value.Time().UTC())
		},
	}
	if format == "text" || c.People {
		return slog.New(slog.NewTextHandler(c, options))
	}
	return slog.New(slog.NewJSONHandler(c, options))
}

// redacted returns an attribute without secrets, such as the password in a location that
// the user named.
func redacted(a slog.Attr) slog.Attr {
	switch v := a.Value.Any().(type) {
	case string:
		return slog.String(a.Key, store.Redact(v))
	case []string:
		clean := make([]string, len(v))
		for i, text := range v {
			clean[i] = store.Redact(text)
		}
		return slog.Any(a.Key, clean)
	}
	return a
}

// fail prints the error that ends the program.
func (c *console) fail(log *slog.Logger, err error, code int) {
	var d *defect
	switch { // an error of printing has no place to go
	case errors.As(err, &d):
		_, _ = fmt.Fprintf(c, "%s: %v\n", c.program.Name, err)
	case c.People:
		_, _ = fmt.Fprintf(c, "%s: %s\n%s", c.program.Name, Printable(err.Error()), c.program.draw(err))
	default:
		log.Error(err.Error(), "exit", code)
	}
}

// Progress draws the progress, the speed and the time left several times a second, until
// stop is called. It draws nothing if no terminal can redraw a line.
type Progress struct {
	console *console
	mu      sync.Mutex
	start   time.Time
	rows    int64
	bytes   int64
	done    int64  // work that is done, in the unit of total
	total   int64  // all work; 0 if not known
	tasks   int64  // tasks that are done
	ofTasks int64  // number of tasks; 0 if the work has no tasks
	waiting string // what the work waits for; empty if it goes on
	// first is the time of the first report, and how much was done then.
	first     time.Time
	firstDone int64
}

// StartProgress begins the progress of the work. The caller calls stop at the end.
func (a *App) StartProgress(ctx context.Context) (p *Progress, stop func()) {
	p = &Progress{console: a.Console, start: time.Now()}
	a.follow(p)
	if !a.Console.redraws || a.Console.quiet {
		return p, func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(250 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				p.console.clear()
				return
			case now := <-tick.C:
				p.console.show(p.text(now, p.console.width()))
			}
		}
	}()
	return p, func() { cancel(); <-stopped }
}

// Set sets the state of work that is measured in bytes.
func (p *Progress) Set(rows, done, total int64) { p.SetOf(rows, done, done, total) }

// SetOf sets the state of work that is measured in another unit.
func (p *Progress) SetOf(rows, bytes, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows, p.bytes, p.done, p.total = rows, bytes, min(done, total), total
	if p.first.IsZero() {
		p.first, p.firstDone = time.Now(), p.done
	}
}

// SetTasks sets the number of tasks that are done.
func (p *Progress) SetTasks(done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tasks, p.ofTasks = int64(done), int64(total)
}

// SetWaiting sets what the work waits for. It is empty if the work goes on.
func (p *Progress) SetWaiting(what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting = what
}

// state returns the progress as of now.
func (p *Progress) state(now time.Time) progressState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return progressState{at: now, rows: p.rows, bytes: p.bytes, done: p.done, total: p.total, tasks: p.tasks, ofTasks: p.ofTasks, waiting: p.waiting}
}

// left returns the time that the rest of the work takes at the speed so far, or 0 if the
// time is unknown.
func (p *Progress) left(now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	left, _ := p.estimate(now)
	return left
}

// estimate is left for a locked progress. known reports whether any work was done since the
// first report. Work of an earlier run is in the first report, and a queued job does no work.
func (p *Progress) estimate(now time.Time) (left time.Duration, known bool) {
	done := p.done - p.firstDone
	if done <= 0 || p.total == 0 {
		return 0, false
	}
	return time.Duration(float64(now.Sub(p.first)) * float64(p.total-p.done) / float64(done)), true
}

const (
	// leastBar and mostBar are the least and the largest width of the bar.
	leastBar = 6
	mostBar  = 30
)

// text returns the line as of now, for a terminal with the given columns.
func (p *Progress) text(now time.Time, columns int) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := now.Sub(p.start)
	if elapsed <= 0 {
		return ""
	}
	if p.waiting != "" {
		return Shorten("waiting for "+Printable(p.waiting)+"  "+elapsed.Round(time.Second).String(), max(columns-1, 3))
	}
	line := Human(int64(float64(p.bytes)/elapsed.Seconds())) + "/s"
	room := columns - 1
	if p.total > 0 {
		share := float64(p.done) / float64(p.total)
		percent, left := fmt.Sprintf("%3.0f%%", math.Floor(100*share)), ""
		if rest, known := p.estimate(now); known {
			left = "  " + rest.Round(time.Second).String() + " left"
		}
		line = percent + "  " + line + left
		if TextWidth(line) > room {
			line = percent + left
		}
		room -= leastBar + TableGap
	}
	figures := []string{Human(p.bytes)}
	if p.rows > 0 { // a cluster reports rows at the end
		figures = []string{Plural(p.rows, "row"), Human(p.bytes)}
	}
	for _, more := range figures {
		if TextWidth(line)+TableGap+len(more) <= room {
			line += "  " + more
		}
	}
	if width := min(mostBar, columns-1-TableGap-TextWidth(line)); p.total > 0 && width > 0 {
		line = filledBar(float64(p.done)/float64(p.total), width) + "  " + line
	}
	return Shorten(line, max(columns-1, 3))
}

// filledBar returns a bar with the rest of its width shaded.
func filledBar(share float64, width int) string {
	drawn := Bar(share, width)
	return drawn + strings.Repeat("░", width-TextWidth(drawn))
}
