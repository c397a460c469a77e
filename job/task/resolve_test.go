package task

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/store"
)

const (
	firstMail  = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"int"},{"name":"sender","type":"string"},{"name":"size","type":["null","int"]},{"name":"seen","type":"boolean"}]}`
	secondMail = `{"type":"record","name":"Mail","fields":[{"name":"from","type":"string"},{"name":"id","type":"long"},{"name":"size","type":["null","int","string"]}]}`
	readMail   = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"long"},{"name":"from","aliases":["sender"],"type":"string"},{"name":"size","type":["null","long","string"]},{"name":"tag","type":"string","default":"new"}]}`
	firstRow   = "\x02\x02a\x02\x06\x01"
	secondRow  = "\x02b\x04\x04\x02?"
	wantFirst  = "\x02\x02a\x02\x06\x06new"
	wantSecond = "\x04\x02b\x04\x02?\x06new"
)

// writeMail writes an Avro file of two blocks of 100 rows of one datum.
func writeMail(t testing.TB, file, schema, datum string) string {
	t.Helper()
	block := strings.Repeat(datum, 100)
	testenv.Must(t, os.WriteFile(file, avroFile(t, schema, block, block), 0o666))
	return file
}

// TestTasksShareResolutions checks that tasks with inputs of two schemas can run concurrently.
func TestTasksShareResolutions(t *testing.T) {
	dir, want := t.TempDir(), ""
	var inputs []string
	for i := range 8 {
		inputs = append(inputs, writeMail(t, fmt.Sprintf("%s/%d-1.avro", dir, i), firstMail, firstRow),
			writeMail(t, fmt.Sprintf("%s/%d-2.avro", dir, i), secondMail, secondRow))
		want += strings.Repeat(wantFirst, 200) + strings.Repeat(wantSecond, 200)
	}
	p := newPlan(t, 1<<20, inputs...)
	resolveTo(t, p, readMail, 5)
	o := options(t)
	o.Workers = 4
	out, results := mustRun(t, p, o)
	if got := readRows(t, store.Local(), out, results); got != want {
		t.Errorf("rows are %.100q…", got)
	}
}

// TestRowsThatDoNotResolve checks that blocks are lost whose rows have a union branch that the
// reader's schema lacks.
func TestRowsThatDoNotResolve(t *testing.T) {
	dir := t.TempDir()
	const narrow = `{"type":"record","name":"Mail","fields":[{"name":"id","type":"long"},{"name":"size","type":["null","long"]}]}`
	p := newPlan(t, 1<<20, writeMail(t, dir+"/1.avro", firstMail, firstRow), writeMail(t, dir+"/2.avro", secondMail, secondRow))
	resolveTo(t, p, narrow, 2)
	mergeTasks(t, p)
	_, _, err := run(t, p, options(t))
	var d *damage.Error
	if failure.KindOf(err) != failure.Input || !errors.As(err, &d) || d.Kind != damage.Value || d.Path != "size" || d.Row != 0 || d.File != dir+"/2.avro" {
		t.Errorf("%v", err)
	}
	p.Request.Options.OnDamage = "quarantine"
	seal(t, p)
	out, results := mustRun(t, p, options(t))
	losses := results[0].Losses
	if len(losses) != 2 || losses[1].Rows != 100 {
		t.Fatalf("%+v", losses)
	}
	for _, l := range losses {
		if info, err := os.Stat(filepath.Join(out, l.Quarantine.Name)); err != nil || info.Size() != l.End-l.Start || !strings.Contains(l.Quarantine.Name, "-00001-2.avro@") {
			t.Errorf("%+v: %v", l.Quarantine, err)
		}
	}
	row := string(binary.AppendVarint(nil, 1)) + "\x02\x06"
	if got := readRows(t, store.Local(), out, results); got != strings.Repeat(row, 200) {
		t.Errorf("rows are %.100q…", got)
	}
}

// TestSchemaThatDoesNotResolve checks that the error has the name of the input.
func TestSchemaThatDoesNotResolve(t *testing.T) {
	in := writeMail(t, t.TempDir()+"/1.avro", firstMail, firstRow)
	p := newPlan(t, 1<<20, in)
	resolveTo(t, p, `{"type":"record","name":"Mail","fields":[{"name":"to","type":"string"}]}`, 1)
	_, _, err := run(t, p, options(t))
	failuretest.Want(t, err, failure.Input, in)
}
