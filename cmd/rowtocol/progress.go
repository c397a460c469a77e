package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/term"
)

// console is standard error: log lines, and below them, on a terminal, one
// line of progress that is redrawn. Safe for concurrent use.
type console struct {
	mu       sync.Mutex
	file     *os.File
	terminal bool
	escaper  escaper
	line     string // the progress line on the screen
}

func newConsole(f *os.File) *console {
	return &console{file: f, terminal: term.IsTerminal(int(f.Fd()))}
}

// Write prints whole lines above the progress line, on a terminal as a screen does.
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

// show replaces the progress line; an empty one removes it.
func (c *console) show(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.terminal || line == c.line {
		return
	}
	if w, _, err := term.GetSize(int(c.file.Fd())); err == nil && len(line) >= w && w > 1 {
		line = line[:w-1]
	}
	c.line = line
	// A progress line that cannot be drawn is no reason to stop.
	_, _ = c.file.WriteString("\r\x1b[K" + line)
}

func (c *console) clear() { c.show("") }

// logger writes text for people on a terminal and JSON for machines elsewhere.
func (c *console) logger(level slog.Level) *slog.Logger {
	if !c.terminal {
		return slog.New(slog.NewJSONHandler(c, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(slog.NewTextHandler(c, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
}

// fail prints the error that ends the program.
func (c *console) fail(log *slog.Logger, err error, code int) {
	var d *defect
	switch { // nowhere is left to complain
	case errors.As(err, &d):
		_, _ = fmt.Fprintf(c, "rowtocol: %v\n", err)
	case c.terminal:
		_, _ = fmt.Fprintf(c, "rowtocol: %s\n", printable(err.Error()))
	default:
		log.Error(err.Error(), "exit", code)
	}
}

// progress draws rows, bytes, rate and the time that is left, several times
// a second, until stop is called. It does nothing without a terminal.
type progress struct {
	console *console
	mu      sync.Mutex
	start   time.Time
	rows    int64
	done    int64 // bytes of input
	total   int64 // bytes of input in all, 0 if not known
}

func (a *app) startProgress(ctx context.Context) (p *progress, stop func()) {
	p = &progress{console: a.console, start: time.Now()}
	if !a.console.terminal {
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
				p.console.show(p.text(now))
			}
		}
	}()
	return p, func() { cancel(); <-stopped }
}

// set takes the state of the work.
func (p *progress) set(rows, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rows, p.done, p.total = rows, done, total
}

// text is the line as of now.
func (p *progress) text(now time.Time) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	elapsed := now.Sub(p.start).Seconds()
	if elapsed <= 0 {
		return ""
	}
	rate := float64(p.done) / elapsed
	line := fmt.Sprintf("%d rows  %s", p.rows, human(p.done))
	if p.total > 0 {
		line += fmt.Sprintf(" of %s  %d%%", human(p.total), min(p.done*100/p.total, 100))
	}
	line += fmt.Sprintf("  %s/s", human(int64(rate)))
	if left := p.total - p.done; p.total > 0 && left >= 0 && rate > 0 {
		line += "  " + time.Duration(float64(left)/rate*float64(time.Second)).Round(time.Second).String() + " left"
	}
	return line
}
