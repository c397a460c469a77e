// Command slowest prints what takes longest in recordings of "go test -json":
// whole tests, and the set-ups that tests report in lines such as
//
//	set-up: cluster of 3 data nodes: 6.21s
//
// Usage: slowest [-n 40] RECORDING...
//
// It says when each recording was made, for they may be of several runs.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

func main() {
	n := flag.Int("n", 40, "number of rows")
	flag.Parse()
	if flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "slowest: there are no recordings; \"make test\" makes them")
		os.Exit(1)
	}
	var all []entry
	for _, name := range flag.Args() {
		found, err := readFile(name)
		if err != nil {
			fmt.Fprintln(os.Stderr, "slowest:", err)
			os.Exit(1)
		}
		all = append(all, found.entries...)
		fmt.Printf("%s  %s\n", found.made.Format(time.DateTime), name)
	}
	fmt.Println()
	slices.SortStableFunc(all, func(a, b entry) int { return cmp.Compare(b.took, a.took) })
	for _, e := range all[:min(*n, len(all))] {
		fmt.Printf("%7.1f s  %-16s %s\n", e.took.Seconds(), e.pkg, e.what)
	}
}

// entry is a test or a set-up.
type entry struct {
	pkg, what string
	took      time.Duration
}

// event is what of a test event counts here; see "go doc test2json".
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

var setUp = regexp.MustCompile(`set-up: (.+): (\S+)\n$`)

// recording is what a file holds.
type recording struct {
	made    time.Time // when it was finished
	entries []entry
}

func readFile(name string) (r recording, err error) {
	f, err := os.Open(name)
	if err != nil {
		return r, err
	}
	defer func() { _ = f.Close() }() // only read
	info, err := f.Stat()
	if err != nil {
		return r, err
	}
	r.made = info.ModTime()
	if r.entries, err = read(f); err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return r, err
}

// read returns the finished top-level tests and the set-ups of a recording.
func read(r io.Reader) (entries []entry, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		pkg := path.Base(e.Package)
		switch m := setUp.FindStringSubmatch(e.Output); {
		case m != nil:
			took, err := time.ParseDuration(m[2])
			if err != nil {
				return nil, err
			}
			entries = append(entries, entry{pkg, "set-up: " + m[1], took})
		case e.Test != "" && !strings.Contains(e.Test, "/") && (e.Action == "pass" || e.Action == "fail"):
			entries = append(entries, entry{pkg, e.Test, time.Duration(e.Elapsed * float64(time.Second))})
		}
	}
	return entries, lines.Err()
}
