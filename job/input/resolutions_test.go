package input

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
)

const (
	firstMail = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"int"},{"name":"sender","type":"string"}]}`
	readMail  = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"long"},{"name":"from","aliases":["sender"],"type":"string"}]}`
	otherMail = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"string"}]}`
)

func parse(t *testing.T, text string) *shred.Schema {
	t.Helper()
	s, err := shred.ParseSchema(text)
	testenv.Must(t, err)
	return s
}

// newResolutions returns the resolutions of a request with a schema.
func newResolutions(t *testing.T) *Resolutions {
	return NewResolutions(&manifest.Request{Schema: readMail}, parse(t, readMail))
}

func TestKnownResolutionsAreBounded(t *testing.T) {
	r := newResolutions(t)
	first, err := r.Of("1.avro", firstMail)
	if again, _ := r.Of("2.avro", firstMail); err != nil || first == nil || again != first {
		t.Errorf("%p and %p of one schema, %v", first, again, err)
	}
	doc := strings.Repeat("x", maxKnown/10)
	for i := range 30 {
		long := strings.Replace(firstMail, `"type"`, fmt.Sprintf(`"doc":"%d%s","type"`, i, doc), 1)
		if resolution, err := r.Of("long.avro", long); err != nil || resolution == nil || len(r.known) > 10 {
			t.Fatalf("%d resolutions are kept, %v", len(r.known), err)
		}
	}
}

func TestResolutions(t *testing.T) {
	if got, err := NewResolutions(&manifest.Request{}, parse(t, readMail)).Of("a.avro", "not even a schema"); got != nil || err != nil {
		t.Errorf("without a reader's schema: %v, %v", got, err)
	}
	r := newResolutions(t)
	if got, err := r.Of("a.avro", readMail); got != nil || err != nil {
		t.Errorf("for the reader's schema: %v, %v", got, err)
	}
	if got, err := r.Of("a.avro", strings.Replace(readMail, `"string"`, `{"type":"string","avro.java.string":"String"}`, 1)); got != nil || err != nil {
		t.Errorf("for another text of the reader's schema: %v, %v", got, err)
	}
	_, err := r.Of("a.avro", otherMail)
	failuretest.Want(t, err, failure.Input, "a.avro: ")
	_, err = r.Of("a.avro", "{")
	failuretest.Want(t, err, failure.Input, "a.avro: ")
}

func TestFitRequest(t *testing.T) {
	seenMail := strings.Replace(firstMail, "}]", `},{"name":"seen","type":"boolean"}]`, 1)
	inputs := []manifest.Input{{Path: "1.avro"}, {Path: "2.avro"}, {Path: "3.avro"}}
	request := &manifest.Request{Schema: readMail}
	f, err := FitRequest(request, inputs, []string{seenMail, readMail, seenMail})
	if err != nil || f.Schema.JSON() != readMail {
		t.Fatalf("%+v, %v", f, err)
	}
	if want := []manifest.LeftOut{{Field: "seen", Input: "1.avro", Inputs: 2}}; !slices.Equal(f.LeftOut, want) {
		t.Errorf("%+v are left out", f.LeftOut)
	}
	if len(f.Warnings) != 1 || !strings.HasPrefix(f.Warnings[0], `input 1.avro (the first of 2) has the field "seen", which the schema`) {
		t.Errorf("%q", f.Warnings)
	}
	request.Options.Strict = true
	if _, err := FitRequest(request, inputs[:1], []string{readMail}); err != nil {
		t.Error(err)
	}
	_, err = FitRequest(request, inputs, []string{readMail, seenMail, readMail})
	failuretest.Want(t, err, failure.Input, "--strict", `input 2.avro has the field "seen"`)
	request.Options.Strict = false
	_, err = FitRequest(request, inputs[:2], []string{seenMail, otherMail})
	failuretest.Want(t, err, failure.Input, "2.avro: ")
	request.Schema = "{"
	_, err = FitRequest(request, inputs[:2], []string{seenMail, otherMail})
	failuretest.Want(t, err, failure.Usage, "the reader's schema: ")
}

// TestFitKept checks that a reader's schema that was not requested must not rename a field.
func TestFitKept(t *testing.T) {
	inputs := []manifest.Input{{Path: "1.avro"}}
	_, err := FitRequest(&manifest.Request{Schema: readMail, SchemaKept: true}, inputs, []string{firstMail})
	failuretest.Want(t, err, failure.Input, "1.avro: field from: ", "--schema")
}

func TestFitFirst(t *testing.T) {
	inputs := []manifest.Input{{Path: "1.avro"}, {Path: "2.avro"}, {Path: "3.avro"}}
	java := strings.ReplaceAll(firstMail, `"string"`, `{"type":"string","avro.java.string":"String"}`)
	odd := strings.Replace(firstMail, `"name":"id"`, `"name":"id","x":1`, 1)
	f, err := FitFirst(inputs, []string{firstMail, java, odd})
	if err != nil || f.Schema.JSON() != firstMail {
		t.Fatalf("%+v, %v", f, err)
	}
	if len(f.Warnings) != 1 || f.Warnings[0] != `input 3.avro: the schema differs from that of 1.avro, which the output gets: field "id": "x"` {
		t.Errorf("%q", f.Warnings)
	}
	_, err = FitFirst(inputs[:2], []string{firstMail, otherMail})
	failuretest.Want(t, err, failure.Input, "2 different schemas", "1.avro", "2.avro")
	_, err = FitFirst(inputs[:2], []string{firstMail, "{"})
	failuretest.Want(t, err, failure.Input, "2.avro: ")
	if f, err := FitFirst(nil, nil); err != nil || f.Schema != nil {
		t.Errorf("%+v, %v", f, err)
	}
}

// TestFitLimitsWarnings checks that only maxWarnings warnings are listed, and the others
// counted.
func TestFitLimitsWarnings(t *testing.T) {
	var inputs []manifest.Input
	texts := []string{firstMail}
	for i := range maxWarnings + 3 {
		var properties string
		for j := range maxPlaces + 2 {
			properties += fmt.Sprintf(`"x%d":%d,`, j, i)
		}
		texts = append(texts, strings.Replace(firstMail, "{", "{"+properties, 1))
	}
	for i := range texts {
		inputs = append(inputs, manifest.Input{Path: fmt.Sprint(i)})
	}
	f, err := FitFirst(inputs, texts)
	if err != nil || len(f.Warnings) != maxWarnings+1 || f.Warnings[maxWarnings] != "further warnings about the schemas of inputs: 3" || !strings.HasSuffix(f.Warnings[0], " and 2 more") {
		t.Errorf("%q, %v", f.Warnings, err)
	}
}

func TestInFile(t *testing.T) {
	if err := InFile("a.avro", errors.New("bad")); err.Error() != "input a.avro: bad" {
		t.Error(err)
	}
}
