package tasktest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/spill"
)

// Keys is a sink that makes an index of one field: lines of a value, the task, the
// row group and the row that have it, sorted. Tasks without rows have no side file,
// and an output without rows has no index.
type Keys struct{ Field string }

// Of returns k. It is a value for job.Options.Sink.
func (k Keys) Of(*manifest.Plan) (task.Sink, error) { return k, nil }

// Name implements task.Sink.
func (k Keys) Name() string { return "keys of " + k.Field }

// Begin implements task.Sink.
func (k Keys) Begin(number int, local *spill.Folder) (task.AttemptSink, error) {
	sp, err := local.New(1, spill.Options{})
	return &taskKeys{keys: k, task: number, spill: sp}, err
}

// Memory implements task.Sink.
func (k Keys) Memory() int64 { return 0 }

// Merge implements task.Sink. Side files are in the order of the tasks, so lines only have
// to be sorted by their values.
func (k Keys) Merge(ctx context.Context, output task.Output, _ *spill.Folder, store func(task.NewFile) error) error {
	side := output.Side
	if len(side) == 0 {
		return nil
	}
	var lines [][]byte
	for i, s := range side {
		if want := fmt.Sprintf("%s-%d", k.Field, s.Task); s.Name != want || i > 0 && s.Task <= side[i-1].Task {
			return fmt.Errorf("side file %q, want %q", s.Name, want)
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

// IndexOf returns the expected index of the field s of an output with the given parts,
// whose rows are those of the given blocks of avrotest.
func IndexOf(parts []manifest.Part, blocks [][]byte) string {
	rows := bytes.Join(blocks, nil)
	var lines []string
	for _, p := range parts {
		for i := range p.Rows {
			_, n := binary.Varint(rows)
			const value = 1 + 16 // bytes of s: a length and the digits
			lines = append(lines, fmt.Sprintf("%x %05d %05d %09d\n", rows[n:n+value], p.Task, p.RowGroup, i))
			rows = rows[n+value:]
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// taskKeys spills the lines of a task.
type taskKeys struct {
	keys  Keys
	task  int
	rows  int
	spill *spill.Spill
}

// Keys implements mapper.RowSink.
func (k *taskKeys) Keys() []string { return []string{k.keys.Field} }

// Row implements mapper.RowSink.
func (k *taskKeys) Row(r *mapper.Row) error {
	k.rows++
	_, err := fmt.Fprintf(k.spill.Writer(0), "%x %05d %05d %09d\n", r.Keys[0], k.task, r.Group, r.Number)
	return err
}

// Finish implements task.AttemptSink.
func (k *taskKeys) Finish(context.Context) ([]task.NewFile, error) {
	if k.rows == 0 {
		return nil, nil
	}
	return []task.NewFile{{Name: fmt.Sprintf("%s-%d", k.keys.Field, k.task), Content: k.spill.Reader(0)}}, nil
}

// Close implements task.AttemptSink.
func (k *taskKeys) Close() error { return k.spill.Close() }
