// Command tally sums up a run of tests from the recordings that "go test -json" made of its
// parts:
//
//	tally -status 2 bin/test/*.json
//
// It prints each reason for which tests were skipped once, the tests that failed, and
// last, alone on a line, "4448 passed, 0 failed, 17 skipped". Subtests count. What
// failed without a test, such as a package that does not compile, counts as one that
// failed, and so does a -status other than 0 where no test did. The exit code is then 1.
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
	status := flag.Int("status", 0, "exit `code` of what ran the tests")
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

// event has the fields of a test event that tally uses; see "go doc test2json".
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
	said := make(map[event]string)  // the last message of each test
	failed := make(map[string]bool) // packages of which a test failed
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
				said[test] = m[1]
			}
		case e.Action == "fail" && (e.Test != "" || !failed[e.Package]):
			failed[e.Package] = true
			t.failed = append(t.failed, name)
		case e.Test == "":
			// It is of a package.
		case e.Action == "pass":
			t.passed++
		case e.Action == "skip":
			why := said[test]
			t.skipped[why] = append(t.skipped[why], name)
		}
	}
}

// named is how many skipped tests a line names.
const named = 3

// print reports whether all that ran passed.
func (t *tally) print(w io.Writer, status int) bool {
	skipped := 0
	for _, why := range slices.Sorted(maps.Keys(t.skipped)) {
		names := t.skipped[why]
		skipped += len(names)
		more := ""
		if n := len(names) - named; n > 0 {
			names, more = names[:named], fmt.Sprintf(" and %d more", n)
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
