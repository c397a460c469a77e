package tasktest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/mapper"
)

// Keys is a sink that makes an index of one field: lines of a value, the task, the
// row group and the row that have it, sorted. Tasks without rows have no side file,
// and an output without rows has no index.
type Keys struct{ Field string }

// Of is what job.Options.Sink asks for.
func (k Keys) Of(*manifest.Plan) (task.Sink, error) { return k, nil }

// Name implements task.Sink.
func (k Keys) Name() string { return "keys of " + k.Field }

// Begin implements task.Sink.
func (k Keys) Begin(number int, dir string) (task.AttemptSink, error) {
	f, err := os.CreateTemp(dir, "*")
	return &taskKeys{of: k, task: number, file: f, lines: bufio.NewWriter(f)}, err
}

// Memory implements task.Sink.
func (k Keys) Memory() int64 { return 0 }

// Merge implements task.Sink. Tasks come in order, so lines only have to be sorted
// by their values.
func (k Keys) Merge(ctx context.Context, of task.Output, _ string, store func(task.NewFile) error) error {
	side := of.Side
	if len(side) == 0 {
		return nil
	}
	var lines [][]byte
	for i, s := range side {
		if want := fmt.Sprintf("%s-%d", k.Field, s.Task); s.Name != want || i > 0 && s.Task <= side[i-1].Task {
			return fmt.Errorf("side file %q is not %q", s.Name, want)
		}
		f, err := s.Open(ctx)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(io.NewSectionReader(f, 0, f.Size()))
		_ = f.Close() // only read
		if err != nil {
			return err
		}
		lines = append(lines, bytes.SplitAfter(text, []byte("\n"))...)
	}
	slices.SortStableFunc(lines, bytes.Compare)
	text := bytes.Join(lines, nil)
	return store(task.NewFile{Name: k.Field + "/lines", Content: io.NewSectionReader(bytes.NewReader(text), 0, int64(len(text)))})
}

// IndexOf returns the index of the field s that the parts of an output should have
// whose rows are avrotest's.
func IndexOf(parts []manifest.Part, blocks [][]byte) string {
	rows := bytes.Join(blocks, nil)
	var lines []string
	for _, p := range parts {
		for i := range p.Rows {
			_, n := binary.Varint(rows)
			const value = 1 + 16 // of s: a length and the digits
			lines = append(lines, fmt.Sprintf("%x %05d %05d %09d\n", rows[n:n+value], p.Task, p.RowGroup, i))
			rows = rows[n+value:]
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// taskKeys spills the lines of a task.
type taskKeys struct {
	of    Keys
	task  int
	rows  int
	file  *os.File
	lines *bufio.Writer
}

// Keys implements mapper.RowSink.
func (k *taskKeys) Keys() []string { return []string{k.of.Field} }

// Row implements mapper.RowSink.
func (k *taskKeys) Row(r *mapper.Row) error {
	k.rows++
	_, err := fmt.Fprintf(k.lines, "%x %05d %05d %09d\n", r.Keys[0], k.task, r.Group, r.Number)
	return err
}

// Finish implements task.AttemptSink.
func (k *taskKeys) Finish(context.Context) ([]task.NewFile, error) {
	if err := k.lines.Flush(); err != nil || k.rows == 0 {
		return nil, err
	}
	info, err := k.file.Stat()
	if err != nil {
		return nil, err
	}
	return []task.NewFile{{Name: fmt.Sprintf("%s-%d", k.of.Field, k.task), Content: io.NewSectionReader(k.file, 0, info.Size())}}, nil
}

// Close implements task.AttemptSink.
func (k *taskKeys) Close() error { return k.file.Close() }
