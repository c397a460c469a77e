package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// profileCommand as first argument makes this program convert under the CPU profiler, in a
// process that does nothing else, like the program.
const profileCommand = "profile-conversion"

// profileFor is the time for which a function is repeated for its profile.
const profileFor = 3 * time.Second

// profile writes a CPU profile of the conversion on one core.
func (c *conversion) profile(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, profileCommand, name, c.input, c.dir, c.format, c.columns, strconv.FormatInt(c.memory, 10))
	cmd.Env, cmd.Stderr = append(os.Environ(), "GOMAXPROCS=1"), os.Stderr
	return cmd.Run()
}

// runProfiled is the process that profile starts.
func runProfiled(args []string) error {
	memory, err := strconv.ParseInt(args[5], 10, 64)
	if err != nil {
		return err
	}
	c := conversion{input: args[1], dir: args[2], format: args[3], columns: args[4], memory: memory}
	return profileRepeated(args[0], func() error {
		_, err := c.run(new(clock), c.writer())
		return err
	})
}

// profileRepeated repeats a function under the profiler.
func profileRepeated(name string, do func() error) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	for start := time.Now(); time.Since(start) < profileFor; {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// part is a share of a conversion's CPU time. A stack belongs to the part that has a prefix
// of its innermost function known to any part.
type part struct {
	name      string
	functions []string
}

// parts are the parts of a conversion; the last one is everything else.
var parts = []part{
	{"codec", []string{
		"github.com/golang/snappy.", "github.com/klauspost/compress/", "github.com/pierrec/lz4/", "hash/crc32.",
		"github.com/rowtocol/rowtocol/cfile/encoding.",
	}},
	{"walk", []string{"github.com/rowtocol/rowtocol/avro/shred.", "github.com/rowtocol/rowtocol/format/column."}},
	{"files", []string{
		"os.OpenFile", "os.Mkdir", "os.Remove", "os.Truncate", "os.Rename", "os.(*File).Truncate", "os.(*File).Close", "os.(*File).close",
		"golang.org/x/sys/unix.Fallocate", "golang.org/x/sys/unix.Ftruncate", "golang.org/x/sys/unix.Open",
	}},
	{"copies", []string{
		"os.(*File).Write", "os.(*File).Read", "os.(*File).Seek", "golang.org/x/sys/unix.Pwrite", "golang.org/x/sys/unix.Write",
		"golang.org/x/sys/unix.CopyFileRange",
	}},
	{"memory", []string{
		"runtime.mallocgc", "runtime.growslice", "runtime.gcBgMarkWorker", "runtime.bgsweep", "runtime.bgscavenge", "runtime.gcStart",
		"runtime.gcAssistAlloc", "runtime.(*mheap)",
	}},
	{"scheduling", []string{
		"runtime.schedule", "runtime.mcall", "runtime.park_m", "runtime.chansend", "runtime.chanrecv", "runtime.selectgo", "runtime.mstart",
		"runtime.sysmon", "runtime.entersyscall", "runtime.exitsyscall", "runtime.goready", "runtime.ready",
	}},
	{"rest", nil},
}

// partOf returns the index of the part that a stack belongs to. Its innermost function is
// first.
func partOf(stack []string) int {
	for _, function := range stack {
		for i := range parts {
			for _, name := range parts[i].functions {
				if strings.HasPrefix(function, name) {
					return i
				}
			}
		}
	}
	return len(parts) - 1
}

// shares returns each part's share of a profile's time.
func shares(profile string) ([]float64, error) {
	out, err := exec.Command("go", "tool", "pprof", "-traces", "-unit=ms", profile).Output()
	if err != nil {
		return nil, fmt.Errorf("go tool pprof: %w", err)
	}
	return sharesOf(out)
}

// sharesOf parses the output of "pprof -traces": stacks between dashed lines, each with its
// time in the first line.
func sharesOf(traces []byte) ([]float64, error) {
	times := make([]float64, len(parts))
	var sum, took float64
	var stack []string
	begun := false
	end := func() {
		if len(stack) > 0 {
			times[partOf(stack)] += took
			sum += took
		}
		stack = stack[:0]
	}
	for lines := bufio.NewScanner(bytes.NewReader(traces)); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "-----") {
			end()
			begun = true
			continue
		}
		if !begun || line == "" {
			continue
		}
		if len(stack) == 0 {
			ms, function, ok := strings.Cut(line, "ms ")
			value, err := strconv.ParseFloat(ms, 64)
			if !ok || err != nil {
				return nil, fmt.Errorf("pprof printed %q where a time and a function were expected", line)
			}
			took, line = value, strings.TrimSpace(function)
		}
		stack = append(stack, line)
	}
	end()
	if sum == 0 {
		return nil, errors.New("the profile is empty")
	}
	for i := range times {
		times[i] /= sum
	}
	return times, nil
}

// explain profiles a conversion, in b.profile if that is set, and keeps the line with the
// shares of its time.
func (b *bench) explain(c benchCase, w *workload) error {
	dir := b.dir
	if b.profile != "" {
		dir = b.profile
	}
	name := profileName(dir, c, "convert")
	if err := w.profile(name); err != nil {
		return err
	}
	of, err := shares(name)
	if err != nil {
		return err
	}
	line := "| " + c.name() + " |"
	for _, share := range of {
		line += fmt.Sprintf(" %.0f |", 100*share)
	}
	b.explained = append(b.explained, line)
	return nil
}

// printExplained prints the shares of the cases' time.
func (b *bench) printExplained() {
	if len(b.explained) == 0 {
		return
	}
	fmt.Print("\n| % of CPU time |")
	for _, p := range parts {
		fmt.Printf(" %s |", p.name)
	}
	fmt.Println("\n|---" + strings.Repeat("|---:", len(parts)) + "|")
	fmt.Println(strings.Join(b.explained, "\n"))
}

func profileName(dir string, c benchCase, what string) string {
	return filepath.Join(dir, fmt.Sprintf("%s-%s-%s.pprof", c.set, cmp.Or(c.format, c.codec), what))
}

// profileStages writes a CPU profile of each stage alone.
func (b *bench) profileStages(c benchCase, w *workload) error {
	for _, s := range stages {
		err := profileRepeated(profileName(b.profile, c, s.name), func() error { return s.run(w, new(clock)) })
		if err != nil {
			return fmt.Errorf("profile of %s: %w", s.name, err)
		}
	}
	return nil
}
