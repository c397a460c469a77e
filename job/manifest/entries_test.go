package manifest

import (
	"bytes"
	"reflect"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
)

// severalFiles returns a result with a part that is a directory.
func severalFiles() *TaskResult {
	r := sampleResult()
	dir := StagedPart(3, 1, attempt, ".cfiles")
	r.Parts[1].Files = []File{{Name: InPart(dir, "0.data"), Bytes: 20}, {Name: InPart(dir, "a=b-c_d"), Bytes: 0}}
	return r
}

func TestPartOfSeveralFiles(t *testing.T) {
	decode := func(r *TaskResult) error {
		b, err := r.Encode()
		testenv.Must(t, err)
		got, err := DecodeTaskResult(b, "p", 3)
		if err == nil && !reflect.DeepEqual(got, r) {
			t.Errorf("got %+v", got)
		}
		return err
	}
	r := severalFiles()
	testenv.Must(t, decode(r))
	if e := r.Entries(); len(e) != 5 || !e[1].Dir || e[1].Name != StagedPart(3, 1, attempt, ".cfiles") || len(e[1].Files) != 2 || e[0].Dir || e[2].Dir {
		t.Errorf("entries %+v", e)
	}
	dir, other := StagedPart(3, 1, attempt, ".cfiles"), StagedPart(3, 1, output, ".cfiles")
	for name, files := range map[string][]string{
		"two directories":       {InPart(dir, "a"), InPart(other, "b")},
		"two files":             {StagedPart(3, 1, attempt, ".a"), StagedPart(3, 1, attempt, ".b")},
		"a file and one inside": {dir, InPart(dir, "a")},
		"one inside and a file": {InPart(dir, "a"), dir},
		"repeated file":         {InPart(dir, "a"), InPart(dir, "a")},
		"another row group":     {InPart(StagedPart(3, 2, attempt, ".cfiles"), "a")},
		"a published name":      {InPart(PartName(3, 1, attempt, ".cfiles"), "a")},
		"no name":               {InPart(dir, "")},
		"dots":                  {InPart(dir, "..")},
		"a hidden name":         {InPart(dir, "_a")},
		"deeper":                {InPart(dir, "a/b")},
		"outside":               {InPart(dir, "../../x")},
	} {
		r := severalFiles()
		r.Parts[1].Files = nil
		for _, f := range files {
			r.Parts[1].Files = append(r.Parts[1].Files, File{Name: f, Bytes: 1})
		}
		if decode(r) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	r = severalFiles()
	second := r.Parts[1]
	second.Rows, second.Files = 0, []File{{Name: InPart(other, "c")}}
	r.Parts = append(r.Parts, second)
	if decode(r) == nil {
		t.Error("two attempts at a part: no error")
	}

	s := NewSuccess(samplePlan(t), output, []*TaskResult{severalFiles()})
	b, err := s.Encode()
	testenv.Must(t, err)
	if s, err = DecodeSuccess(b); err != nil {
		t.Fatal(err)
	}
	published := PartName(3, 1, output, ".cfiles")
	if f := s.Parts[1].Files; f[0].Name != published+"/0.data" || f[1].Name != published+"/a=b-c_d" || s.Bytes != 30 {
		t.Errorf("the part is published as %+v", s.Parts[1])
	}
	if _, err := DecodeSuccess(manifesttest.Seal(bytes.Replace(b, []byte("/0.data"), []byte("/.data"), 1))); err == nil {
		t.Error("a hidden name: no error")
	}
}

func TestIsFileName(t *testing.T) {
	for name, want := range map[string]bool{
		"a": true, "0": true, "a.b_c=d-E": true, "=": true, "a..": true, strings.Repeat("x", 128): true,
		"": false, ".": false, "..": false, ".a": false, "_a": false, "a/b": false, "a b": false, "é": false,
		"a\n": false, "a\x00": false, "a\\b": false, strings.Repeat("x", 129): false,
	} {
		if IsFileName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}
