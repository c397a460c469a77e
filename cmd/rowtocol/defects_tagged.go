//go:build testformat

package main

import (
	"encoding/json"
	"runtime/debug"

	"github.com/rowtocol/rowtocol/format"
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

func (d defective) Writer(json.RawMessage) (format.Writer, error) {
	d.fail()
	return nil, nil
}
