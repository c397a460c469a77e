package job

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/ocf"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

const testSchema = `{"type":"record","name":"R","fields":[{"name":"id","type":"long"},{"name":"s","type":"string"}]}`

// writeInput writes an Avro file of so many blocks of 100 rows, uncompressed.
func writeInput(t testing.TB, file, schema string, seed uint64, blocks int) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	w, err := ocf.NewWriter(f, schema, "null", [16]byte{1, 2, 3, byte(seed)})
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(seed, 0))
	for b := range blocks {
		var rows []byte
		for i := range 100 {
			rows = binary.AppendVarint(rows, int64(b*100+i))
			rows = binary.AppendVarint(rows, 16)
			rows = fmt.Appendf(rows, "%016x", r.Uint64())
		}
		if err := w.AppendBlock(100, rows); err != nil {
			t.Fatal(err)
		}
	}
}

func trevniFormat(o manifest.Options) (format.Format, error) {
	return trevni.NewFormat(trevni.Options{Codec: o.Codec, Checksum: o.Checksum}), nil
}

// request is a job of small row groups, so that a few blocks make several
// tasks.
func request(t testing.TB, dest string, inputs ...string) Request {
	return Request{
		Inputs: inputs, Dest: dest, NewFormat: trevniFormat, Workers: 2, TempDir: t.TempDir(),
		Options: manifest.Options{Format: "trevni", RowGroupSize: 16 << 10, Codec: "null", Checksum: "crc32", MaxLostRows: -1},
	}
}

// tree returns the content of every file below dir, by relative name.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(p)
		rel, _ := filepath.Rel(dir, p)
		sum := sha256.Sum256(b)
		files[rel] = fmt.Sprintf("%d %x", len(b), sum[:6])
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

func sameTree(t testing.TB, got, want map[string]string) {
	t.Helper()
	for name, sum := range want {
		if got[name] != sum {
			t.Errorf("%s: %q, want %q", name, got[name], sum)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

func mustConvert(t testing.TB, r Request) *Outcome {
	t.Helper()
	out, err := Convert(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func wantKind(t testing.TB, err, kind error, text string) {
	t.Helper()
	if err == nil || KindOf(err) != kind || !strings.Contains(err.Error(), text) {
		t.Errorf("got error %v of kind %v, want kind %v and %q", err, KindOf(err), kind, text)
	}
}

func TestConvert(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, filepath.Join(dir, "in", "b.avro"), testSchema, 1, 30)
	writeInput(t, filepath.Join(dir, "in", "a.avro"), testSchema, 2, 1)
	writeInput(t, filepath.Join(dir, "in", "day=1", "c.avro"), testSchema, 3, 2)
	var last Progress
	r := request(t, filepath.Join(dir, "out"), filepath.Join(dir, "in"))
	r.Progress = func(p Progress) { last = p }
	out := mustConvert(t, r)
	if out.Manifest.Rows != 3300 || out.Nothing || out.Resumed != 0 {
		t.Errorf("%d rows, nothing %v, resumed %d", out.Manifest.Rows, out.Nothing, out.Resumed)
	}
	if last.Rows != 3300 || last.Bytes != last.TotalBytes || last.Tasks != last.TotalTasks || last.TotalTasks != len(out.Plan.Tasks) {
		t.Errorf("final progress %+v", last)
	}
	var rows int64
	for i, p := range out.Manifest.Parts {
		if p.Bytes > 16<<10+50 {
			t.Errorf("%s has %d bytes", p.Name, p.Bytes)
		}
		// Not the last of a file, whose size is what is left.
		if p.Bytes < 16<<10*7/10 && i+1 < len(out.Manifest.Parts) && out.Manifest.Parts[i+1].Task < len(out.Plan.Tasks)-2 && i > 0 {
			t.Errorf("%s has only %d bytes", p.Name, p.Bytes)
		}
		rows += readRows(t, filepath.Join(dir, "out", p.Name))
	}
	if rows != 3300 {
		t.Errorf("%d rows in the parts", rows)
	}
	before := tree(t, filepath.Join(dir, "out"))
	if len(before) != len(out.Manifest.Parts)+1 {
		t.Errorf("the destination holds %v", before)
	}
	if out = mustConvert(t, r); !out.Nothing || out.Manifest.Rows != 3300 {
		t.Errorf("the second run did something: %+v", out)
	}
	sameTree(t, tree(t, filepath.Join(dir, "out")), before)
	for _, workers := range []int{1, 8} {
		r.Workers, r.Dest = workers, filepath.Join(dir, fmt.Sprint("out", workers))
		mustConvert(t, r)
		sameTree(t, tree(t, r.Dest), before)
	}
	if left := tree(t, r.TempDir); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
}

func readRows(t testing.TB, file string) int64 {
	t.Helper()
	f, err := store.Local().Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	trv, err := trevni.Open(f, f.Size(), file)
	if err != nil {
		t.Fatal(err)
	}
	return trv.RowCount()
}

func TestEmptyInputs(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "none"), 0o777); err != nil {
		t.Fatal(err)
	}
	writeInput(t, filepath.Join(dir, "zero", "a.avro"), testSchema, 1, 0)
	writeInput(t, filepath.Join(dir, "zero", "b.avro"), testSchema, 2, 0)

	out := mustConvert(t, request(t, filepath.Join(dir, "o1"), filepath.Join(dir, "none")))
	if len(out.Manifest.Parts) != 0 || len(out.Warnings) == 0 {
		t.Errorf("no files: parts %v, warnings %v", out.Manifest.Parts, out.Warnings)
	}
	if got := tree(t, filepath.Join(dir, "o1")); len(got) != 1 || got["_SUCCESS"] == "" {
		t.Errorf("no files: destination %v", got)
	}
	out = mustConvert(t, request(t, filepath.Join(dir, "o2"), filepath.Join(dir, "zero")))
	if len(out.Manifest.Parts) != 1 || out.Manifest.Parts[0].Rows != 0 {
		t.Errorf("no rows: parts %v", out.Manifest.Parts)
	}
	if n := readRows(t, filepath.Join(dir, "o2", "part-00000.trv")); n != 0 {
		t.Errorf("%d rows of none", n)
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeInput(t, at("in/a.avro"), testSchema, 1, 3)
	writeInput(t, at("other/b.avro"), `"string"`, 2, 0)
	for name, content := range map[string]string{"file": "x", "junk/x.avro": "not Avro", "foreign/notes.txt": "mine", "in/.hidden.avro": "x", "in/_x.avro": "x", "in/c.txt": "x"} {
		if err := os.MkdirAll(filepath.Dir(at(name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at(name), []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	before := tree(t, dir)
	for name, tc := range map[string]struct {
		inputs []string
		dest   string
		change func(*Request)
		kind   error
		text   string
	}{
		"missing":         {[]string{"nope.avro"}, "out", nil, ErrInput, "does not exist"},
		"no match":        {[]string{"in/*.parquet"}, "out", nil, ErrInput, "no file matches"},
		"bad pattern":     {[]string{"in/[.avro"}, "out", nil, ErrUsage, "syntax error"},
		"not Avro":        {[]string{"junk"}, "out", nil, ErrInput, "magic"},
		"named hidden":    {[]string{"in/.hidden.avro"}, "out", nil, ErrInput, "magic"},
		"schemas":         {[]string{"in", "other"}, "out", nil, ErrInput, "2 different schemas"},
		"schemas' files":  {[]string{"in", "other"}, "out", nil, ErrInput, "other/b.avro"},
		"dest is a file":  {[]string{"in"}, "file", nil, ErrUsage, "is a file"},
		"dest in input":   {[]string{"in"}, "in/out", nil, ErrUsage, "inside of the input"},
		"dest is input":   {[]string{"in"}, "in", nil, ErrUsage, "inside of the input"},
		"input in dest":   {[]string{"in/a.avro"}, "in", nil, ErrUsage, "inside of the destination"},
		"no parent":       {[]string{"in"}, "no/out", nil, ErrFinal, "parent"},
		"foreign":         {[]string{"in"}, "foreign", nil, ErrConflict, "notes.txt"},
		"foreign, forced": {[]string{"in"}, "foreign", func(r *Request) { r.Overwrite = true }, ErrConflict, "notes.txt"},
		"no inputs":       {nil, "out", nil, ErrUsage, "no input"},
		"scheme":          {[]string{"s3://b/in"}, "out", nil, ErrUsage, "s3"},
		"on damage":       {[]string{"in"}, "out", func(r *Request) { r.Options.OnDamage = "ignore" }, ErrUsage, "ignore"},
		"temp dir":        {[]string{"in"}, "out", func(r *Request) { r.TempDir = at("no") }, ErrUsage, "temporary directory"},
		"format":          {[]string{"in"}, "out", func(r *Request) { r.Options.Codec = "lzma" }, ErrUsage, "lzma"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(t, at(tc.dest))
			for _, in := range tc.inputs {
				if !strings.Contains(in, "://") {
					in = at(in)
				}
				r.Inputs = append(r.Inputs, in)
			}
			if tc.change != nil {
				tc.change(&r)
			}
			_, err := Convert(context.Background(), r)
			wantKind(t, err, tc.kind, tc.text)
			sameTree(t, tree(t, dir), before)
			if _, err := os.Stat(at("out")); err == nil {
				t.Error("the destination was left")
			}
		})
	}
}

func TestExpandInputs(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"d/a.avro", "d/sub/z.avro", "d/_skip/x.avro", "d/.skip/x.avro", "d/_x.avro", "d/.x.avro", "d/text", "e/b.avro"} {
		writeInput(t, filepath.Join(dir, name), testSchema, 1, 0)
	}
	for _, tc := range []struct{ args, want string }{
		{"d", "d/a.avro d/sub/z.avro"},
		{"e d e/b.avro ./e//b.avro", "d/a.avro d/sub/z.avro e/b.avro"},
		{"d/text", "d/text"},
		{"d/t*", "d/text"},
		{"?/*.avro", "d/_x.avro d/a.avro e/b.avro"},
		{"d/_x.avro d/.x.avro", "d/.x.avro d/_x.avro"},
		{"*", "d/a.avro d/sub/z.avro e/b.avro"},
	} {
		var args []string
		for _, a := range strings.Fields(tc.args) {
			args = append(args, dir+"/"+a)
		}
		got, err := ExpandInputs(context.Background(), args, nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range got {
			got[i] = strings.TrimPrefix(got[i], dir+"/")
		}
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: got %s, want %s", tc.args, s, tc.want)
		}
	}
}

func TestInputChanges(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 20)
	r := request(t, filepath.Join(dir, "out"), in)
	changed := false
	r.Progress = func(p Progress) {
		if p.Tasks == p.TotalTasks && !changed {
			changed = true
			writeInput(t, in, testSchema, 9, 20)
		}
	}
	_, err := Convert(context.Background(), r)
	wantKind(t, err, ErrInput, "changed during the job")
	if _, err := os.Stat(r.Dest); err == nil {
		t.Errorf("the destination was left: %v", tree(t, r.Dest))
	}
}

func TestDamage(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 60)
	b, err := os.ReadFile(in)
	if err != nil {
		t.Fatal(err)
	}
	// The first long of the block after the middle of the file.
	sync := bytes.Index(b[len(b)/2:], []byte{1, 2, 3, 1, 0, 0})
	for i := range 10 {
		b[len(b)/2+sync+16+4+i] = 0xff
	}
	if err := os.WriteFile(in, b, 0o666); err != nil {
		t.Fatal(err)
	}
	r := request(t, filepath.Join(dir, "out"), in)
	_, err = Convert(context.Background(), r)
	wantKind(t, err, ErrInput, "a.avro")
	if _, err := os.Stat(r.Dest); err == nil {
		t.Errorf("the destination was left: %v", tree(t, r.Dest))
	}

	r.Options.OnDamage, r.Options.MaxLostRows = "quarantine", 99
	_, err = Convert(context.Background(), r)
	wantKind(t, err, ErrInput, "99")
	if _, err := os.Stat(r.Dest); err == nil {
		t.Errorf("the destination was left: %v", tree(t, r.Dest))
	}

	r.Options.MaxLostRows = 200
	for range 2 { // the second time there is nothing to do, and the loss is said again
		out, err := Convert(context.Background(), r)
		wantKind(t, err, ErrLosses, "100 rows")
		if out == nil || out.Manifest.Rows != 5900 || len(out.Manifest.Losses) != 1 {
			t.Fatalf("outcome %+v", out)
		}
		l := out.Manifest.Losses[0]
		kept, err := os.ReadFile(filepath.Join(r.Dest, l.Quarantine))
		if err != nil || string(kept) != string(b[l.Start:l.End]) || len(kept) == 0 {
			t.Errorf("quarantine of [%d, %d): %d bytes, %v", l.Start, l.End, len(kept), err)
		}
	}

	r.Dest, r.Options.OnDamage = filepath.Join(dir, "skipped"), "skip"
	out, err := Convert(context.Background(), r)
	wantKind(t, err, ErrLosses, "100 rows")
	if out == nil || out.Manifest.Rows != 5900 || out.Manifest.Losses[0].Quarantine != "" {
		t.Errorf("outcome %+v", out)
	}
}

// TestOutcome compares the outcome with what _SUCCESS says.
func TestOutcome(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	writeInput(t, in, testSchema, 1, 12)
	r := request(t, filepath.Join(dir, "out"), in)
	out := mustConvert(t, r)
	doc, err := os.ReadFile(filepath.Join(r.Dest, successName))
	if err != nil {
		t.Fatal(err)
	}
	if b, err := out.Manifest.Encode(); err != nil || !bytes.Equal(b, doc) {
		t.Errorf("the outcome is not what _SUCCESS says (%v)", err)
	}
}

// writing is a store on which a writer has a file open.
type writing struct {
	store.Store
	file string
}

func (w writing) Open(ctx context.Context, p string) (store.File, error) {
	if p == w.file {
		return nil, fmt.Errorf("open %s: %w", p, store.ErrBeingWritten)
	}
	return w.Store.Open(ctx, p)
}

// on resolves every location to one store.
func on(st store.Store) Resolve {
	return func(location string) (store.Location, error) {
		return store.Location{Store: st, Path: location}, nil
	}
}

// TestFilesBeingWritten leaves out a file that is still being written if it was
// found, and refuses it if it was named.
func TestFilesBeingWritten(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	writeInput(t, filepath.Join(in, "a.avro"), testSchema, 1, 2)
	writeInput(t, filepath.Join(in, "b.avro"), testSchema, 2, 2)
	open := filepath.Join(in, "b.avro")
	for i, found := range []string{in, filepath.Join(in, "*.avro")} {
		r := request(t, filepath.Join(dir, fmt.Sprint("out", i)), found)
		r.Resolve = on(writing{store.Local(), open})
		out := mustConvert(t, r)
		if out.Manifest.Rows != 200 || len(out.Manifest.Inputs) != 1 {
			t.Errorf("%s: %d rows of %d inputs", found, out.Manifest.Rows, len(out.Manifest.Inputs))
		}
		if len(out.Warnings) != 1 || !strings.Contains(out.Warnings[0], open) {
			t.Errorf("%s: warnings %q", found, out.Warnings)
		}
		// Once it is closed, there is more to convert.
		r.Resolve = nil
		if _, err := Convert(context.Background(), r); KindOf(err) != ErrConflict {
			t.Errorf("%s: the closed file was overlooked: %v", found, err)
		}
	}
	r := request(t, filepath.Join(dir, "named"), in, open)
	r.Resolve = on(writing{store.Local(), open})
	_, err := Convert(context.Background(), r)
	wantKind(t, err, ErrInput, "still being written")
}
