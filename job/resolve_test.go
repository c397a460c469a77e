package job

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
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
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.AppendBlock(100, []byte(strings.Repeat(datum, 100))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(file, []byte(out.String()), 0o666); err != nil {
		t.Fatal(err)
	}
}

// rows returns the rows of a dataset, end to end.
func rows(t testing.TB, dir string) string {
	t.Helper()
	d, err := dataset.Open(t.Context(), store.Local(), dir, dataset.Options{})
	if err != nil {
		t.Fatal(err)
	}
	scan, err := d.Scan(t.Context(), dataset.Query{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer scan.Close()
	var all []byte
	for {
		if all, err = scan.Next(all); err == io.EOF {
			return string(all)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestConvertGenerations brings files of two generations into one output.
func TestConvertGenerations(t *testing.T) {
	dir := t.TempDir()
	writeRows(t, dir+"/1.avro", firstMail, "\x02\x02a\x02\x06\x01")
	writeRows(t, dir+"/2.avro", secondMail, "\x02b\x04\x04\x02?")
	writeRows(t, dir+"/3.avro", firstMail, "\x02\x02a\x02\x06\x01")
	r := request(t, dir+"/out", dir+"/*.avro")
	r.Schema = readMail
	out := mustConvert(t, r)
	if len(out.Plan.Tasks) != 1 || len(out.Plan.Tasks[0].Pieces) != 3 || out.Manifest.Schema != readMail || !out.Manifest.Options.ReaderSchema {
		t.Errorf("%+v", out.Plan)
	}
	first := strings.Repeat(wantFirst, 200)
	if got := rows(t, r.Dest); got != first+strings.Repeat(wantSecond, 200)+first {
		t.Errorf("rows are %.100q…", got)
	}
	if again := mustConvert(t, r); !again.Nothing {
		t.Error("the same job was done again")
	}

	r.Schema = ""
	r.Dest = dir + "/other"
	if _, err := Convert(context.Background(), r); KindOf(err) != ErrInput || !strings.Contains(err.Error(), "2 different schemas") {
		t.Errorf("without a schema: %v", err)
	}
}

// TestOwnSchemaChangesNothing names the schema that the input has.
// TestTasksShareResolutions runs tasks with inputs of two generations at once.
func TestTasksShareResolutions(t *testing.T) {
	dir := t.TempDir()
	want := ""
	for i := range 8 {
		writeRows(t, fmt.Sprintf("%s/%d-1.avro", dir, i), firstMail, "\x02\x02a\x02\x06\x01")
		writeRows(t, fmt.Sprintf("%s/%d-2.avro", dir, i), secondMail, "\x02b\x04\x04\x02?")
		want += strings.Repeat(wantFirst, 200) + strings.Repeat(wantSecond, 200)
	}
	r := request(t, dir+"/out", dir+"/*.avro")
	r.Schema, r.Options.RowGroupSize, r.Workers = readMail, 4<<10, 4
	out := mustConvert(t, r)
	if len(out.Plan.Tasks) < 4 {
		t.Errorf("%d tasks", len(out.Plan.Tasks))
	}
	if got := rows(t, r.Dest); got != want {
		t.Errorf("rows are %.100q…", got)
	}
}

func TestResolutionsAreKeptWithinBounds(t *testing.T) {
	reader, err := shred.ParseSchema(readMail)
	if err != nil {
		t.Fatal(err)
	}
	r := resolutions{reader: reader}
	first, err := r.of("1.avro", firstMail)
	if again, _ := r.of("2.avro", firstMail); err != nil || first == nil || again != first {
		t.Errorf("%p and %p of one schema, %v", first, again, err)
	}
	doc := strings.Repeat("x", maxKnown/10)
	for i := range 30 {
		long := strings.Replace(firstMail, `"type"`, fmt.Sprintf(`"doc":"%d%s","type"`, i, doc), 1)
		if by, err := r.of("long.avro", long); err != nil || by == nil || len(r.known) > 10 {
			t.Fatalf("%d are kept, %v", len(r.known), err)
		}
	}
}

func TestOwnSchemaChangesNothing(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", testSchema, 3, 40)
	r := request(t, dir+"/plain", dir+"/a.avro")
	plain := mustConvert(t, r)
	r.Dest, r.Schema, r.Workers = dir+"/named", testSchema, 1
	named := mustConvert(t, r)
	if len(plain.Manifest.Parts) < 2 || plain.Manifest.Parts[0] != named.Manifest.Parts[0] || len(plain.Manifest.Parts) != len(named.Manifest.Parts) {
		t.Errorf("%+v, %+v", plain.Manifest.Parts, named.Manifest.Parts)
	}
}

func TestSchemaRefusals(t *testing.T) {
	dir := t.TempDir()
	writeRows(t, dir+"/1.avro", firstMail, "\x02\x02a\x02\x06\x01")
	for _, c := range []struct {
		name, schema string
		kind         error
		want         []string
	}{
		{"no JSON", `{`, ErrUsage, []string{"the reader's schema"}},
		{"recursive", `{"type":"record","name":"Mail","fields":[{"name":"next","type":["null","Mail"],"default":null}]}`, ErrUsage, []string{"the reader's schema", "next"}},
		{"missing field", `{"type":"record","name":"Mail","fields":[{"name":"to","type":"string"}]}`, ErrInput, []string{"/1.avro", "field to", "string"}},
		{"type", `{"type":"record","name":"Mail","fields":[{"name":"sender","type":"long"}]}`, ErrInput, []string{"/1.avro", "field sender", "the writer's string", "the reader's long"}},
	} {
		r := request(t, dir+"/out", dir+"/1.avro")
		r.Schema = c.schema
		_, err := Convert(context.Background(), r)
		if KindOf(err) != c.kind {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", c.name, err, want)
			}
		}
		if left := tree(t, dir+"/out"); len(left) > 0 {
			t.Errorf("%s: left %v", c.name, left)
		}
	}
}

// TestRowsThatDoNotResolve loses the blocks whose rows take a branch that the
// reader's schema lacks.
func TestRowsThatDoNotResolve(t *testing.T) {
	dir := t.TempDir()
	const narrow = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"long"},{"name":"size","type":["null","long"]}]}`
	writeRows(t, dir+"/1.avro", firstMail, "\x02\x02a\x02\x06\x01")
	writeRows(t, dir+"/2.avro", secondMail, "\x02b\x04\x04\x02?")
	r := request(t, dir+"/out", dir+"/*.avro")
	r.Schema = narrow
	_, err := Convert(context.Background(), r)
	var d *damage.Error
	if KindOf(err) != ErrInput || !errors.As(err, &d) || d.Kind != damage.Value || d.Path != "size" || d.Row != 0 || d.File != dir+"/2.avro" {
		t.Errorf("%v", err)
	}
	r.Options.OnDamage = "quarantine"
	out, err := Convert(context.Background(), r)
	if KindOf(err) != ErrLosses || len(out.Manifest.Losses) != 2 || out.Manifest.Losses[1].Rows != 100 {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := os.Stat(filepath.Join(r.Dest, out.Manifest.Losses[0].Quarantine)); err != nil {
		t.Error(err)
	}
	row := string(binary.AppendVarint(nil, 1)) + "\x02\x06"
	if got := rows(t, r.Dest); got != strings.Repeat(row, 200) {
		t.Errorf("rows are %.100q…", got)
	}
}
