package plan

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
)

const (
	firstMail  = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"int"},{"name":"sender","type":"string"},{"name":"size","type":["null","int"]},{"name":"seen","type":"boolean"}]}`
	secondMail = `{"type":"record","name":"Mail","fields":[{"name":"from","type":"string"},{"name":"id","type":"long"},{"name":"size","type":["null","int","string"]}]}`
	readMail   = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"long"},{"name":"from","aliases":["sender"],"type":"string"},{"name":"size","type":["null","long","string"]},{"name":"tag","type":"string","default":"new"}]}`
	firstRow   = "\x02\x02a\x02\x06\x01"
	secondRow  = "\x02b\x04\x04\x02?"
)

func TestSharedTexts(t *testing.T) {
	var shared sharedTexts
	first, second := shared.intern(firstMail), shared.intern(strings.Clone(firstMail))
	if unsafe.StringData(first) != unsafe.StringData(second) || second != firstMail {
		t.Error("equal texts are not shared")
	}
	if other := shared.intern(secondMail); other != secondMail {
		t.Errorf("another text is interned as %q", other)
	}
}

// writeGenerations writes files of two generations of a schema, with two blocks of rows rows each.
func writeGenerations(t *testing.T, dir string, rows int) {
	t.Helper()
	for i, file := range []struct{ schema, row string }{{firstMail, firstRow}, {secondMail, secondRow}, {firstMail, firstRow}} {
		block := []byte(strings.Repeat(file.row, rows))
		writeBlocks(t, fmt.Sprintf("%s/%d.avro", dir, i+1), file.schema, int64(rows), block, block)
	}
}

// TestGenerations checks that one output is planned for files of two generations, and that
// both are sampled.
func TestGenerations(t *testing.T) {
	dir := t.TempDir()
	writeGenerations(t, dir, 400)
	r := request(dir+"/out", dir+"/*.avro")
	r.Schema = readMail
	s := mustLook(t, r)
	p, err := s.Plan(t.Context(), "")
	testenv.Must(t, err)
	if len(p.Tasks) != 3 || p.Schema != readMail || p.Request.Schema != readMail || p.Columns != len(s.Mapping.Columns) {
		t.Errorf("plan %+v", p)
	}
	// Rows of 6 bytes get a column with a default of 4 bytes, and lengths.
	if p.Ratio < 1.5 || p.Ratio > 2.5 {
		t.Errorf("ratio %v, want 1.5 to 2.5", p.Ratio)
	}
	r.Schema = ""
	_, err = NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "2 different schemas")
	failuretest.Want(t, err, failure.Input, dir+"/3.avro")
}

// TestOwnSchemaChangesNothing checks that requesting the schema of the input changes nothing.
func TestOwnSchemaChangesNothing(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", avrotest.Schema, 3, 40)
	r := request(dir+"/out", dir+"/a.avro")
	plain := mustPlan(t, r)
	r.Schema = avrotest.Schema
	named := mustPlan(t, r)
	if named.Request.Schema != avrotest.Schema || named.ID == plain.ID {
		t.Errorf("the request has the schema %q", named.Request.Schema)
	}
	named.ID, named.Request.Schema, named.Request.SchemaCanonical = plain.ID, "", ""
	if got, want := mustEncode(t, named), mustEncode(t, plain); got != want {
		t.Errorf("plan %s, want %s", got, want)
	}
}

func mustEncode(t *testing.T, p *manifest.Plan) string {
	t.Helper()
	b, err := p.Encode()
	testenv.Must(t, err)
	return string(b)
}

func TestSchemaRefusals(t *testing.T) {
	dir := t.TempDir()
	writeGenerations(t, dir, 1)
	for _, c := range []struct {
		name, schema string
		kind         error
		want         []string
	}{
		{"no JSON", `{`, failure.Usage, []string{"the reader's schema"}},
		{"recursive", `{"type":"record","name":"Mail","fields":[{"name":"next","type":["null","Mail"],"default":null}]}`, failure.Usage, []string{"the reader's schema", "next"}},
		{"missing field", `{"type":"record","name":"Mail","fields":[{"name":"to","type":"string"}]}`, failure.Input, []string{"/1.avro", "field to", "string"}},
		{"type", `{"type":"record","name":"Mail","fields":[{"name":"sender","type":"long"}]}`, failure.Input, []string{"/1.avro", "field sender", "the writer's string", "the reader's long"}},
	} {
		r := request(dir+"/out", dir+"/1.avro")
		r.Schema = c.schema
		_, err := NewSurvey(t.Context(), r)
		for _, want := range c.want {
			failuretest.Want(t, err, c.kind, want)
		}
	}
}
