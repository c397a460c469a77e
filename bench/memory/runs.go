package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/internal/memlimit"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// headroom is the MiB that the program may take besides --memory.
const headroom = 48

// The settings. Over the runs of all inputs, each is paired with each.
var (
	workers  = []int{1, 2, 4, 8}
	memories = []int{64, 128, 256, 512, 2048} // MiB
)

// measurement is one call of the command.
type measurement struct {
	program string
	dir     string
	killed  int
}

// input measures conversions of an input, and commands that read the output.
func (m *measurement) input(i int, in input) error {
	dir := filepath.Join(m.dir, in.name)
	if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
		if err := in.prepare(dir); err != nil {
			return err
		}
	}
	out := filepath.Join(m.dir, "out")
	defer func() { _ = os.RemoveAll(out) }() // scratch
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	for j := len(memories) - 1; j >= 0; j-- {
		dest := filepath.Join(out, fmt.Sprint(memories[j]))
		args := []string{"convert", filepath.Join(dir, "in"), dest}
		if j == i%len(memories) { // a run of another input tests this pair
			args = append(args, "--format", "cfile", "--many-files")
		}
		if in.schema != "" {
			args = append(args, "--schema", filepath.Join(dir, "schema.avsc"))
		}
		code, err := m.run(in.name, workers[(i+j)%len(workers)], memories[j], args...)
		if err != nil {
			return err
		}
		if code != 0 {
			continue
		}
		reading := [][]string{
			{"cat", "--to", "json"}, {"cat", "--to", "avro"}, {"cat", "--to", "arrow"}, {"verify"}, {"cat", "--to", "csv"},
		}
		if err := m.read(in, workers[(i+j+1)%len(workers)], memories[(i+j)%len(memories)], dest, reading[(i+j)%len(reading)]); err != nil {
			return err
		}
		if err := os.RemoveAll(dest); err != nil {
			return err
		}
	}
	return nil
}

// read measures a command that reads an output.
func (m *measurement) read(in input, workers, memory int, dest string, command []string) error {
	_, err := m.run(in.name, workers, memory, append(command, dest)...)
	return err
}

// run measures a call of the program and prints a line.
func (m *measurement) run(name string, workers, memory int, args ...string) (int, error) {
	args = append(args, "--workers", fmt.Sprint(workers), "--memory", fmt.Sprintf("%dMiB", memory))
	cmd := exec.Command(m.program, args...)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.Env = &stderr, testenv.ProgramEnviron()
	u, err := memlimit.Run(cmd, int64(memory+headroom)<<20)
	if err != nil {
		return 0, err
	}
	// The table does not depend on the directory.
	said := strings.ReplaceAll(lastMessage(stderr.String()), m.dir+"/", "")
	outcome := "done"
	switch {
	case u.Killed:
		outcome = "**killed**"
	case u.Exit == 1, tooLargeForCFiles(u.Exit, args):
		outcome = "refused: " + said
	case u.Exit != 0:
		outcome = fmt.Sprintf("**exit %d**: %s", u.Exit, said)
	}
	peak := int(u.Peak >> 20)
	if u.Killed || u.Exit < 0 || u.Exit > 1 && !tooLargeForCFiles(u.Exit, args) || peak > memory+headroom {
		m.killed++
	}
	fmt.Printf("| %s | %s | %d | %d | %d | %.1f | %s |\n", name, strings.Join(describe(args), " "), workers, memory, peak, u.Wall.Seconds(), outcome)
	return u.Exit, nil
}

// tooLargeForCFiles reports whether a conversion may fail because some inputs have values
// that are too large for CFiles.
func tooLargeForCFiles(exit int, args []string) bool {
	return exit == 3 && slices.Contains(args, "cfile")
}

// describe returns the arguments of a call that describe it.
func describe(args []string) (words []string) {
	for _, arg := range args[:len(args)-4] {
		if !strings.Contains(arg, "/") && arg != "--schema" {
			words = append(words, arg)
		}
	}
	return words
}

// lastMessage returns the message of the last line of the program's log that is not about
// progress. Without such a line, it is empty.
func lastMessage(log string) (last string) {
	log = testenv.Log(log)
	for text := range strings.Lines(log) {
		var line struct{ Level, Msg string }
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			last = strings.TrimSpace(text)
		} else if line.Level != "INFO" {
			last = line.Msg
		}
	}
	return last
}

// prepare makes the files of an input.
func (in *input) prepare(dir string) error {
	making := dir + ".new"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(making, "in"), 0o777); err != nil {
		return err
	}
	if err := in.make(filepath.Join(making, "in")); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(making, "schema.avsc"), []byte(in.schema), 0o666); err != nil {
		return err
	}
	return os.Rename(making, dir)
}
