// Command scale measures the cost of many inputs: the plan and the conversion of many small
// files next to a large one, and daily runs to one destination. It prints tables:
//
//	go run -C bench ./scale -program ../bin/rowtocol
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rowtocol/rowtocol/internal/memlimit"
)

func main() {
	memlimit.Main()
	var m measurement
	flag.StringVar(&m.program, "program", "bin/rowtocol", "the `program`")
	flag.StringVar(&m.dir, "dir", "", "where to work, and keep inputs for the next call; empty is a temporary `directory`")
	flag.IntVar(&m.small, "small", 10_000, "small files, of 20 KB")
	flag.Int64Var(&m.large, "large", 5<<30, "bytes of the large file")
	flag.IntVar(&m.memory, "memory", 512, "--memory, in `MiB`")
	flag.IntVar(&m.runs, "runs", 365, "daily runs; 0 for none")
	flag.Parse()
	if err := run(&m); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

func run(m *measurement) (err error) {
	if m.program, err = filepath.Abs(m.program); err != nil {
		return err
	}
	if m.dir == "" {
		if m.dir, err = os.MkdirTemp("", "rowtocol-scale-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(m.dir) }() // scratch
	}
	if m.small > 0 || m.large > 0 {
		if err := m.oneJob(); err != nil {
			return err
		}
	}
	if m.runs > 0 {
		return m.days()
	}
	return nil
}
