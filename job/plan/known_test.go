package plan

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// converted changes inputs to what the manifest of an output lists, if they were converted
// long after they were modified.
func converted(t *testing.T, inputs []manifest.Input) []manifest.Input {
	t.Helper()
	for i := range inputs {
		testenv.Must(t, input.Sum(t.Context(), nil, &inputs[i]))
		inputs[i].Recent = false
	}
	return inputs
}

// TestKnownInput checks that a known input is left out if it is unchanged, and refused if it
// changed.
func TestKnownInput(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/in/a.avro"
	writeInput(t, file, avrotest.Schema, 1, 2)
	r := request(dir+"/out", dir+"/in")
	known := converted(t, mustLook(t, r).Request.Inputs)
	whole, err := os.ReadFile(file)
	testenv.Must(t, err)
	other := append([]byte(nil), whole...)
	other[len(other)-20] ^= 1
	times := []time.Time{known[0].ModTime, known[0].ModTime.Add(time.Hour), {}}
	for name, tc := range map[string]struct {
		bytes   []byte
		modTime int // 0: the same time, 1: another time, 2: the manifest has no time
		changed string
	}{
		"unchanged":            {whole, 0, ""},
		"not opened":           {make([]byte, len(whole)), 0, ""},
		"touched":              {whole, 1, ""},
		"old manifest":         {whole, 2, ""},
		"other bytes":          {other, 1, "identity"},
		"other bytes, no time": {other, 2, "identity"},
		"longer":               {append(other[:len(other):len(other)], 1), 0, "bytes"},
		"no Avro file":         {make([]byte, len(whole)), 1, "and is not one now"},
		"empty":                {nil, 1, "and is not one now"},
	} {
		testenv.Must(t, os.WriteFile(file, tc.bytes, 0o666))
		testenv.Must(t, os.Chtimes(file, times[0], times[tc.modTime%2]))
		was := known[0]
		if tc.modTime == 2 {
			was.ModTime = times[2]
		}
		again := r
		again.Known = manifest.NewKnown()
		again.Known.Add("run", was)
		s, err := NewSurvey(t.Context(), again)
		if tc.changed == "" {
			if err != nil || len(s.Request.Inputs) != 0 || len(s.Warnings) != 0 {
				t.Errorf("%s: %+v, %v", name, s, err)
			}
			continue
		}
		failuretest.Want(t, err, failure.Input, file+" changed", tc.changed)
		if changed := (*Changed)(nil); !errors.As(err, &changed) || changed.Owner != "run" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKnownAndNewInputs checks that known inputs are accepted for an argument, with and
// without new ones.
func TestKnownAndNewInputs(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", avrotest.Schema, 1, 2)
	r := request(dir+"/out", dir+"/in")
	known := converted(t, mustLook(t, r).Request.Inputs)
	r.Known = manifest.NewKnown(known...)
	writeInput(t, dir+"/in/b.avro", avrotest.Schema, 2, 2)
	r.Increment = true
	p := mustPlan(t, r)
	if in := p.Request.Inputs; !p.Increment || len(in) != 1 || in[0].Path != dir+"/in/b.avro" || in[0].ModTime.IsZero() {
		t.Errorf("%v: %+v", p.Increment, in)
	}
	testenv.Must(t, os.Remove(dir+"/in/b.avro"))
	if p := mustPlan(t, r); len(p.Tasks) != 0 || p.Schema != "" {
		t.Errorf("%+v", p)
	}
	// An empty file that was counted as lost is known too.
	writeInput(t, dir+"/in/b.avro", avrotest.Schema, 2, 2)
	testenv.Must(t, os.WriteFile(dir+"/empty.avro", nil, 0o666))
	r.Inputs = append(r.Inputs, dir+"/empty.avro")
	r.Output.OnDamage = "skip"
	s := mustLook(t, r)
	known = append(known, converted(t, s.Request.Inputs)...)
	for i := range known {
		known[i].ModTime = time.Time{}
	}
	r.Known = manifest.NewKnown(known...)
	if again := mustLook(t, r); len(s.Request.Inputs) != 2 || len(again.Request.Inputs) != 0 {
		t.Errorf("%+v, then %+v", s.Request.Inputs, again.Request.Inputs)
	}
}

// TestRepeatedFiles checks that a file with two names is converted once, and that copies are
// handled as the option says.
func TestRepeatedFiles(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/a.avro", avrotest.Schema, 1, 2)
	testenv.Must(t, os.Link(dir+"/in/a.avro", dir+"/in/b.avro"))
	r := request(dir+"/out", dir+"/in")
	s := mustLook(t, r)
	if len(s.Request.Inputs) != 1 || len(s.Skipped) != 1 || s.Skipped[0].Same != dir+"/in/a.avro" {
		t.Errorf("%+v, skipped %+v", s.Request.Inputs, s.Skipped)
	}
	writeInput(t, dir+"/in/c.avro", avrotest.Schema, 1, 2)
	for copies, want := range map[string]int{"": 2, SkipCopies: 1} {
		r.Output.Copies = copies
		if s := mustLook(t, r); len(s.Request.Inputs) != want {
			t.Errorf("copies %q: %+v", copies, s.Request.Inputs)
		}
	}
	r.Output.Copies = RefuseCopies
	_, err := NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "c.avro has the same content as "+dir+"/in/a.avro")
	r.Output.Copies = "burn"
	_, err = NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Usage, "copies")
}

// TestTakenUnread checks that a file is skipped that another partition of the same conversion
// has under another name, although it was just modified and nothing has read it yet.
func TestTakenUnread(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/in/p=1/a.avro"
	writeInput(t, file, avrotest.Schema, 1, 2)
	testenv.Must(t, os.Mkdir(dir+"/in/p=2", 0o777), os.Link(file, dir+"/in/p=2/b.avro"))
	now := time.Now()
	testenv.Must(t, os.Chtimes(file, now, now))
	taken := new(Taken)
	for partition, want := range []int{1, 0} {
		r := request(dir+"/out", fmt.Sprintf("%s/in/p=%d", dir, partition+1))
		r.Taken, r.Partition = taken, fmt.Sprintf("p=%d", partition+1)
		s := mustLook(t, r)
		if len(s.Request.Inputs) != want || len(s.Skipped) != 1-want {
			t.Errorf("partition %d: %+v, skipped %+v", partition+1, s.Request.Inputs, s.Skipped)
		}
	}
}

// TestTakenByOtherPartition checks that a file is converted if another partition has its older
// rows, and refused if the inputs of another partition are unknown.
func TestTakenByOtherPartition(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/in/p=1/a.avro", avrotest.Schema, 1, 2)
	r := request(dir+"/out", dir+"/in/p=1")
	older := converted(t, mustLook(t, r).Request.Inputs)
	older[0].Identity, older[0].ModTime = older[0].Identity+1, older[0].ModTime.Add(-time.Hour)
	r.Taken, r.Partition = new(Taken), "p=1"
	r.Taken.Add("p=2", older)
	r.Taken.AddUnknown("p=1", "itself")
	if s := mustLook(t, r); len(s.Request.Inputs) != 1 {
		t.Errorf("inputs %+v, skipped %+v", s.Request.Inputs, s.Skipped)
	}
	r.Taken.AddUnknown("p=3", "its manifest is damaged")
	_, err := NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Foreign, "a.avro is new, unless partition p=3 has its rows: its manifest is damaged")
}

// TestSameFileID checks that two files with one ID and different times are the same file if
// their bytes are equal.
func TestSameFileID(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", avrotest.Schema, 1, 100)
	whole, err := os.ReadFile(dir + "/a.avro")
	testenv.Must(t, err)
	for change, want := range map[byte]bool{0: true, 1: false} {
		b := slices.Clone(whole)
		b[len(b)/3] ^= change
		testenv.Must(t, os.WriteFile(dir+"/b.avro", b, 0o600))
		var headers []header
		for i, name := range []string{"a", "b"} {
			in, _, err := input.Describe(t.Context(), nil, dir+"/"+name+".avro")
			testenv.Must(t, err)
			in.FileID, in.ModTime = 7, time.Unix(int64(i)+1, 0).UTC()
			headers = append(headers, header{input: in})
		}
		if err := new(Survey).skipRepeated(t.Context(), headers); err != nil || headers[0].known || headers[1].known != want {
			t.Errorf("%d: %+v: %v", change, headers, err)
		}
	}
}

// TestAnswers checks that the checksums of files are kept if later changes would be noticed.
func TestAnswers(t *testing.T) {
	dir := t.TempDir()
	file := dir + "/in/a.avro"
	writeInput(t, file, avrotest.Schema, 1, 2)
	r := request(dir+"/out", dir+"/in")
	r.Known = manifest.NewKnown(converted(t, mustLook(t, r).Request.Inputs)...)
	for at, kept := range map[time.Time]bool{time.Now().Add(-time.Minute): true, time.Now(): false} {
		testenv.Must(t, os.Chtimes(file, at, at))
		s := mustLook(t, r)
		if answers := s.Sums(); (len(answers) == 1) != kept || len(s.Request.Inputs) != 0 {
			t.Errorf("modified at %v: %+v", at, answers)
		}
	}
	var s Survey
	if s.addAnswer(&manifest.Input{Path: "in"}, true); s.Sums() != nil {
		t.Error("an answer is kept for a file without a time")
	}
}
