//go:build testformat

package main

import (
	"encoding/json"
	"runtime/debug"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testformat"
)

func init() {
	for _, fail := range []struct {
		name string
		do   func()
	}{
		{"panics", func() { panic("a sample of a defect") }},
		{"panics-beside", func() {
			go func() { panic("a sample of a defect") }()
			select {}
		}},
		{"recurses", func() {
			debug.SetMaxStack(1 << 20)
			var again func(n int) int
			again = func(n int) int { return again(n+1) + n }
			again(0)
		}},
		{"panics-encoding", func() {}},
	} {
		formats = append(formats, defective{testformat.Format, fail.name, fail.do})
	}
}

// defective is a format with a defect, for the exit code of one.
type defective struct {
	format.Format
	name string
	fail func()
}

func (d defective) Name() string           { return d.name }
func (d defective) Suffix() string         { return "." + d.name }
func (d defective) Recognizes([]byte) bool { return false }

func (d defective) Writer(options json.RawMessage) (format.Writer, error) {
	d.fail()
	w, err := d.Format.Writer(options)
	return defectiveWriter{w}, err
}

// defectiveWriter is a writer whose encode jobs panic.
type defectiveWriter struct{ format.Writer }

func (w defectiveWriter) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	g, err := w.Writer.NewRowGroup(schema, cols, blockSize)
	return defectiveGroup{g}, err
}

type defectiveGroup struct{ format.RowGroup }

func (g defectiveGroup) Begin(col int, b *column.Block) (format.EncodeJob, error) {
	j, err := g.RowGroup.Begin(col, b)
	return defectiveJob{j}, err
}

type defectiveJob struct{ format.EncodeJob }

func (defectiveJob) Encode([]byte) ([]byte, error) { panic("a sample of a defect") }
