// Command tally sums up a run of tests from the recordings of its parts by "go test -json":
//
//	tally -status 2 bin/test/*.json
//
// It prints each reason for skipped tests once, the tests that failed, and a last line
// such as "4448 passed, 0 failed, 17 skipped". Subtests count. A failure outside of tests,
// such as a package that does not compile, counts as a failed test. So does a -status
// other than 0 if no test failed. If there are failures, the exit code is 1.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	status := flag.Int("status", 0, "exit `code` of the run of the tests")
	flag.Parse()
	t := newTally()
	for _, name := range flag.Args() {
		if err := t.addFile(name); err != nil {
			fmt.Fprintln(os.Stderr, "tally:", err)
			os.Exit(1)
		}
	}
	if !t.print(os.Stdout, *status) {
		os.Exit(1)
	}
}

// event has the fields of a test event that tally uses: see "go doc test2json".
type event struct {
	Action, Package, Test, Output string
}

// tally is the result of tests.
type tally struct {
	passed  int
	failed  []string            // names of tests, and of packages that failed without one
	skipped map[string][]string // names of tests by reason
}

func newTally() *tally { return &tally{skipped: make(map[string][]string)} }

func (t *tally) addFile(name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	err = t.add(f)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return errors.Join(err, f.Close())
}

// message matches a line that a test logs, without the place.
var message = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// add counts the tests of a recording.
func (t *tally) add(recording io.Reader) error {
	lastMessage := make(map[event]string) // the last message of each test
	failed := make(map[string]bool)       // packages with a failed test
	d := json.NewDecoder(recording)
	for {
		var e event
		err := d.Decode(&e)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		test := event{Package: e.Package, Test: e.Test}
		name := strings.TrimSpace(path.Base(e.Package) + " " + e.Test)
		switch {
		case e.Action == "output":
			if m := message.FindStringSubmatch(e.Output); m != nil {
				lastMessage[test] = m[1]
			}
		case e.Action == "fail" && (e.Test != "" || !failed[e.Package]):
			failed[e.Package] = true
			t.failed = append(t.failed, name)
		case e.Test == "":
			// The event is that of a package.
		case e.Action == "pass":
			t.passed++
		case e.Action == "skip":
			why := lastMessage[test]
			t.skipped[why] = append(t.skipped[why], name)
		}
	}
}

// maxNames is the number of skipped tests that a line names.
const maxNames = 3

// print prints the tally, and reports whether nothing failed.
func (t *tally) print(w io.Writer, status int) bool {
	skipped := 0
	for _, why := range slices.Sorted(maps.Keys(t.skipped)) {
		names := t.skipped[why]
		skipped += len(names)
		more := ""
		if n := len(names) - maxNames; n > 0 {
			names, more = names[:maxNames], fmt.Sprintf(" and %d more", n)
		}
		fmt.Fprintf(w, "skipped: %s (%s%s)\n", cmp.Or(why, "no reason given"), strings.Join(names, ", "), more)
	}
	failed := len(t.failed)
	for _, name := range t.failed {
		fmt.Fprintln(w, "failed:", name)
	}
	//guard: rejects a part that ended without a recording
	if failed == 0 && status != 0 {
		fmt.Fprintln(w, "failed: a part outside of the tests, see above")
		failed = 1
	}
	fmt.Fprintf(w, "%d passed, %d failed, %d skipped\n", t.passed, failed, skipped)
	return failed == 0
}
