package input

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/failure"
	"github.com/rowtocol/rowtocol/failure/failuretest"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
)

const (
	firstMail = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"int"},{"name":"sender","type":"string"}]}`
	readMail  = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"long"},{"name":"from","aliases":["sender"],"type":"string"}]}`
	otherMail = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"string"}]}`
)

func parse(t *testing.T, text string) *shred.Schema {
	t.Helper()
	s, err := shred.ParseSchema(text)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestResolutionsAreKeptWithinBounds(t *testing.T) {
	r := NewResolutions(parse(t, readMail))
	first, err := r.Of("1.avro", firstMail)
	if again, _ := r.Of("2.avro", firstMail); err != nil || first == nil || again != first {
		t.Errorf("%p and %p of one schema, %v", first, again, err)
	}
	doc := strings.Repeat("x", maxKnown/10)
	for i := range 30 {
		long := strings.Replace(firstMail, `"type"`, fmt.Sprintf(`"doc":"%d%s","type"`, i, doc), 1)
		if by, err := r.Of("long.avro", long); err != nil || by == nil || len(r.known) > 10 {
			t.Fatalf("%d are kept, %v", len(r.known), err)
		}
	}
}

func TestResolutions(t *testing.T) {
	if by, err := NewResolutions(nil).Of("a.avro", "not even a schema"); by != nil || err != nil {
		t.Errorf("without a reader's schema: %v, %v", by, err)
	}
	r := NewResolutions(parse(t, readMail))
	if by, err := r.Of("a.avro", readMail); by != nil || err != nil {
		t.Errorf("of its own schema: %v, %v", by, err)
	}
	_, err := r.Of("a.avro", otherMail)
	failuretest.Want(t, err, failure.Input, "a.avro: ")
	_, err = r.Of("a.avro", "{")
	failuretest.Want(t, err, failure.Input, "a.avro: ")
}

func TestReaderSchema(t *testing.T) {
	inputs := []manifest.Input{{Path: "1.avro"}, {Path: "2.avro"}}
	if s, err := ReaderSchema(readMail, inputs, []string{firstMail, readMail}); err != nil || s.JSON() != readMail {
		t.Errorf("%v, %v", s, err)
	}
	_, err := ReaderSchema(readMail, inputs, []string{firstMail, otherMail})
	failuretest.Want(t, err, failure.Input, "2.avro: ")
	_, err = ReaderSchema("{", inputs, []string{firstMail, otherMail})
	failuretest.Want(t, err, failure.Usage, "the reader's schema: ")
}

func TestInFile(t *testing.T) {
	if err := InFile("a.avro", errors.New("bad")); err.Error() != "input a.avro: bad" {
		t.Error(err)
	}
}
