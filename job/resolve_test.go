package job

import (
	"context"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

const (
	firstMail  = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"int"},{"name":"sender","type":"string"},{"name":"size","type":["null","int"]},{"name":"seen","type":"boolean"}]}`
	secondMail = `{"type":"record","name":"Mail","fields":[{"name":"from","type":"string"},{"name":"id","type":"long"},{"name":"size","type":["null","int","string"]}]}`
	readMail   = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"long"},{"name":"from","aliases":["sender"],"type":"string"},{"name":"size","type":["null","long","string"]},{"name":"tag","type":"string","default":"new"}]}`
	wantFirst  = "\x02\x02a\x02\x06\x06new"
	wantSecond = "\x04\x02b\x04\x02?\x06new"
)

// writeRows writes an Avro file of two blocks of 100 rows of one datum.
func writeRows(t testing.TB, file, schema, datum string) {
	t.Helper()
	var out strings.Builder
	w, err := ocf.NewWriter(&out, schema, "null", [16]byte{7})
	testenv.Must(t, err)
	for range 2 {
		testenv.Must(t, w.AppendBlock(100, []byte(strings.Repeat(datum, 100))))
	}
	write(t, file, []byte(out.String()))
}

// datasetRows returns the concatenated rows of a dataset.
func datasetRows(t testing.TB, dir string) string {
	t.Helper()
	d, err := dataset.Open(t.Context(), []store.Location{{Store: store.Local(), Path: dir}}, dataset.Options{Formats: format.Registry{trevni.Format}})
	testenv.Must(t, err)
	scan, err := d.Scan(t.Context(), dataset.Query{Limit: -1})
	testenv.Must(t, err)
	defer scan.Close()
	var all []byte
	for {
		if all, err = scan.Next(all); err == io.EOF {
			return string(all)
		}
		testenv.Must(t, err)
	}
}

// reworded returns another text of the same schema.
func reworded(schema string) string {
	return strings.Replace(schema, `{"type":"record",`, `{"doc": "E-mail.", "type":"record", `, 1)
}

// TestConvertGenerations checks that files of two generations of a schema are converted to one
// output.
func TestConvertGenerations(t *testing.T) {
	dir := t.TempDir()
	writeRows(t, dir+"/1.avro", firstMail, "\x02\x02a\x02\x06\x01")
	writeRows(t, dir+"/2.avro", secondMail, "\x02b\x04\x04\x02?")
	writeRows(t, dir+"/3.avro", firstMail, "\x02\x02a\x02\x06\x01")
	r := request(t, dir+"/out", dir+"/*.avro")
	r.Schema = readMail
	out := mustConvert(t, r)
	if len(out.Plan.Tasks) != 1 || len(out.Plan.Tasks[0].Pieces) != 3 || out.Manifest.Schema != readMail || out.Manifest.Request.Schema != readMail {
		t.Errorf("%+v", out.Plan)
	}
	first := strings.Repeat(wantFirst, 200)
	if got := datasetRows(t, r.Dest); got != first+strings.Repeat(wantSecond, 200)+first {
		t.Errorf("rows are %.100q…", got)
	}
	if again := mustConvert(t, r); !again.Nothing {
		t.Error("the same job was done again")
	}
	r.Schema = reworded(readMail)
	if again := mustConvert(t, r); !again.Nothing {
		t.Error("the same job was done again for another text of the schema")
	}

	r.Schema = strings.Replace(readMail, "new", "old", 1)
	_, err := Convert(context.Background(), r)
	failuretest.Want(t, err, failure.Foreign, "the schema to resolve to is another")

	r.Schema, r.Dest = "", dir+"/other"
	_, err = Convert(context.Background(), r)
	failuretest.Want(t, err, failure.Input, "2 different schemas")
}

// TestResumeWithRewordedSchema checks that a run can be resumed with another text of the
// schema. All parts have the text of the plan.
func TestResumeWithRewordedSchema(t *testing.T) {
	r, _ := newJob(t)
	r.Schema = avrotest.Schema
	named := r
	named.Dest += ".named"
	want := reference(t, store.Local(), named)
	done := interrupt(t, r, 3)
	r.Schema = " " + avrotest.Schema
	out := mustConvert(t, r)
	if out.Resumed != len(done) || out.Manifest.Schema != avrotest.Schema {
		t.Errorf("resumed %d of %d tasks with the schema %q", out.Resumed, len(done), out.Manifest.Schema)
	}
	wantContents(t, store.Local(), r.Dest, want)
}

// TestOwnSchemaChangesNothing checks that requesting the schema of the input changes nothing.
func TestOwnSchemaChangesNothing(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", 3, 40)
	r := request(t, dir+"/out", dir+"/a.avro")
	plain := reference(t, store.Local(), r)
	r.Schema, r.Workers = avrotest.Schema, 1
	mustConvert(t, r)
	if named := contents(t, store.Local(), r.Dest); len(plain) < 2 || !slices.Equal(plain, named) {
		t.Errorf("without %q, with a schema %q", plain, named)
	}
}
