package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	mega = 1e6
	mebi = 1 << 20
)

// table is the table of all results; a line is a list of cells.
type table struct {
	began string
	lines [][]string
}

// add adds the results of a data set, with each peer's CPU time as a multiple of rowtocol's.
func (t *table) add(s *set, results []result) {
	base := slices.IndexFunc(results, func(r result) bool { return r.peer.name == ours && len(r.runs) > 0 })
	t.lines = append(t.lines, []string{fmt.Sprintf("**%s** (%.0f MB)", s.name, float64(s.size)/mega), "", "", "", "", "", "", ""})
	for i := range results {
		r := &results[i]
		line := []string{r.peer.name, "", "", "", "", "", "", r.verdict}
		if len(r.runs) > 0 {
			line[1] = strconv.Itoa(len(r.runs))
			line[2] = fmt.Sprintf("%.2f", r.median(func(c cost) float64 { return c.cpu.Seconds() }))
			line[4] = fmt.Sprintf("%.2f", r.median(func(c cost) float64 { return c.wall.Seconds() }))
			line[5] = fmt.Sprintf("%.0f", r.median(func(c cost) float64 { return float64(c.memory) })/mebi)
			line[6] = fmt.Sprintf("%.1f", float64(r.size)/mega)
			if base >= 0 {
				line[3] = fmt.Sprintf("%.2f", r.ratio(&results[base]))
			}
		}
		t.lines = append(t.lines, line)
	}
}

// print writes the table as Markdown, after a line about the machine.
func (t *table) print(w io.Writer, o options) {
	fmt.Fprintf(w, "%s, %s, %d cores, on core %d; medians of at most %d runs; load %s before and %s after\n\n",
		time.Now().Format(time.DateOnly), field("/proc/cpuinfo", "model name"), runtime.NumCPU(), o.core, o.runs, t.began, load())
	lines := append([][]string{
		{"", "runs", "CPU s", "× ours", "wall s", "peak MiB", "output MB", "output"},
		{"---", "---:", "---:", "---:", "---:", "---:", "---:", "---"},
	}, t.lines...)
	width := make([]int, len(lines[0])-1)
	for _, line := range lines {
		for i := range width {
			width[i] = max(width[i], len([]rune(line[i])))
		}
	}
	for _, line := range lines {
		for i, n := range width {
			fmt.Fprintf(w, "| %-*s ", n, line[i])
		}
		fmt.Fprintf(w, "| %s |\n", line[len(width)])
	}
}

// load returns the machine's load average of the last minute.
func load() string {
	b, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	first, _, _ := strings.Cut(string(b), " ")
	return first
}

// field returns the first value of a key in a file of "key : value" lines.
func field(path, key string) string {
	f, err := os.Open(path)
	if err != nil {
		return "unknown " + key
	}
	defer func() { _ = f.Close() }()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if k, v, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(k) == key {
			return strings.TrimSpace(v)
		}
	}
	return "unknown " + key
}
