// Command memory measures the memory of the program for inputs that need much, under limits
// that the kernel enforces, and prints a table:
//
//	go run -C bench ./memory -program ../bin/rowtocol
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rowtocol/rowtocol/internal/memlimit"
)

func main() {
	memlimit.Main()
	var m measurement
	flag.StringVar(&m.program, "program", "bin/rowtocol", "the `program`")
	flag.StringVar(&m.dir, "dir", "", "where to work, and keep inputs for the next call; empty is a temporary `directory`")
	only := flag.String("only", "", "measure inputs whose names match the `expression`")
	flag.Parse()
	if err := run(&m, *only); err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(1)
	}
}

func run(m *measurement, only string) (err error) {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	if m.program, err = filepath.Abs(m.program); err != nil {
		return err
	}
	if m.dir == "" {
		if m.dir, err = os.MkdirTemp("", "rowtocol-memory-"); err != nil {
			return err
		}
		defer func() { _ = os.RemoveAll(m.dir) }() // scratch
	}
	if err := memlimit.Supported(); err != nil {
		fmt.Printf("No cgroup can be made here (%v): the table shows peaks only.\n\n", err)
	}
	fmt.Println("| input | command | workers | `--memory` MiB | peak MiB | s | outcome |")
	fmt.Println("|---|---|---:|---:|---:|---:|---|")
	for i, in := range inputs {
		if !match.MatchString(in.name) {
			continue
		}
		if err := m.input(i, in); err != nil {
			return fmt.Errorf("%s: %w", in.name, err)
		}
	}
	if m.killed > 0 {
		return fmt.Errorf("%d runs were killed or exceeded their memory", m.killed)
	}
	return nil
}
