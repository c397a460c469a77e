package plan

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

func TestPlanIsDeterministic(t *testing.T) {
	dir := t.TempDir()
	for i, blocks := range []int{3, 40, 0, 1, 12} {
		writeInput(t, filepath.Join(dir, string(rune('a'+i))+".avro"), avrotest.Schema, uint64(i), blocks)
	}
	var first []byte
	for i, inputs := range [][]string{
		{dir},
		{dir + "/*.avro"},
		{dir + "/e.avro", dir + "/d.avro", dir, dir + "/./a.avro"},
	} {
		r := request(dir+".out", inputs...)
		r.Memory = budget.New(int64(i+1) * 16 << 20)
		p := mustPlan(t, r)
		b, err := p.Encode()
		testenv.Must(t, err)
		if first == nil {
			first = b
		}
		if !bytes.Equal(b, first) {
			t.Errorf("inputs %v give the plan:\n%s\nwant\n%s", inputs, b, first)
		}
		if _, err := manifest.DecodePlan(b); err != nil {
			t.Error(err)
		}
		// Neither the input nor the output is compressed.
		if math.Abs(p.Ratio-1) > 0.05 || p.Ratio != math.Round(p.Ratio*1e4)/1e4 {
			t.Errorf("ratio %v, want about 1", p.Ratio)
		}
	}
}

func TestPlan(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", avrotest.Schema, 1, 2)
	s := mustLook(t, request(dir+"/./out", dir+"/a.avro"))
	o := s.Request.Options
	if o.MaxInputBlock != defaultMaxBlock || o.OnDamage != "fail" || o.BlockSize != 0 || o.RowGroupSize != 16<<10 || len(s.Mapping.Columns) != 2 {
		t.Errorf("the survey has %+v", s)
	}
	p, err := s.Plan(t.Context(), "00112233445566ff")
	testenv.Must(t, err)
	if p.Dest != dir+"/out" || p.Base != "00112233445566ff" || p.BlockSize != manifest.DefaultBlockSize || p.Columns != 2 || p.Schema != avrotest.Schema || !reflect.DeepEqual(p.Request, s.Request) {
		t.Errorf("the plan is %+v", p)
	}
	if sum, err := p.Sum(); err != nil || sum != p.ID {
		t.Errorf("the plan has the ID %s, want %s, %v", p.ID, sum, err)
	}
}

// TestSortedRows checks that inputs and options are refused that do not fit a format of rows.
func TestSortedRows(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", avrotest.Schema, 1, 1)
	for name, tc := range map[string]struct {
		key   string
		index []string
		want  string
	}{
		"index":  {"id", []string{"s"}, "--index is for formats of columns"},
		"no key": {"none", nil, "none"},
	} {
		r := request(dir+"/out", dir+"/a.avro")
		r.Output.Format, r.Output.Index = "hfile", tc.index
		r.Output.FormatOptions = fmt.Appendf(nil, `{"key":[%q]}`, tc.key)
		_, err := NewSurvey(t.Context(), r)
		t.Run(name, func(t *testing.T) { failuretest.Want(t, err, failure.Usage, tc.want) })
	}
}

// TestPlanReplaces checks that Replaces is part of the plan's ID, and empty for an increment.
func TestPlanReplaces(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", avrotest.Schema, 1, 2)
	const output, added = "00112233445566ff", "2233445566ff0011"
	for _, increment := range []bool{false, true} {
		r := request(dir+"/out", dir+"/a.avro")
		r.Increment = increment
		var plans []*manifest.Plan
		for _, holds := range [][]string{{output}, {output, added}} {
			p, err := mustLook(t, r).Plan(t.Context(), output, holds...)
			testenv.Must(t, err)
			plans = append(plans, p)
		}
		if slices.Equal(plans[1].Replaces, []string{output, added}) == increment || (plans[0].ID == plans[1].ID) != increment {
			t.Errorf("increment %v: the plans are %+v and %+v", increment, plans[0], plans[1])
		}
	}
}

func TestRefusals(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	writeInput(t, at("in/a.avro"), avrotest.Schema, 1, 3)
	writeInput(t, at("other/b.avro"), `"string"`, 2, 0)
	writeInput(t, at("odd/b.avro"), strings.Replace(avrotest.Schema, `"s"`, `"s-s"`, 1), 2, 0)
	writeInput(t, at("list/b.avro"), `{"type":"record","name":"L","fields":[{"name":"next","type":["null","L"]}]}`, 2, 0)
	writeInput(t, at("empty/b.avro"), `{"type":"record","name":"E","fields":[]}`, 2, 0)
	writeInput(t, at("latin/b\xe9.avro"), avrotest.Schema, 1, 0)
	for i := range 12 {
		writeInput(t, at(fmt.Sprintf("many/%02d.avro", i)), avrotest.Schema, 1, 0)
	}
	for name, content := range map[string]string{"junk/x.avro": "not Avro", "in/.hidden.avro": "x", "in/_x.avro": "x", "in/c.txt": "x"} {
		testenv.Must(t, os.MkdirAll(filepath.Dir(at(name)), 0o777))
		testenv.Must(t, os.WriteFile(at(name), []byte(content), 0o666))
	}
	options := func(change func(*manifest.Options)) func(*Request) {
		return func(r *Request) { change(&r.Output) }
	}
	for name, tc := range map[string]struct {
		inputs []string
		dest   string
		change func(*Request)
		kind   error
		text   string
	}{
		"missing":        {[]string{"nope.avro"}, "out", nil, failure.Input, "nope.avro does not exist"},
		"no match":       {[]string{"in/*.parquet"}, "out", nil, failure.Input, "no file matches the pattern; with --allow-empty"},
		"not UTF-8":      {[]string{"latin"}, "out", nil, failure.Input, `b\xe9.avro": the name is not UTF-8`},
		"dest not UTF-8": {[]string{"in"}, "o\xe9", nil, failure.Usage, `o\xe9": the name is not UTF-8`},
		"not Avro":       {[]string{"junk/x.avro"}, "out", nil, failure.Input, "junk/x.avro: offset 0"},
		"named hidden":   {[]string{"in/.hidden.avro"}, "out", nil, failure.Input, "magic"},
		"schemas":        {[]string{"in", "other"}, "out", nil, failure.Input, "2 different schemas"},
		"schemas' files": {[]string{"in", "other"}, "out", nil, failure.Input, "other/b.avro"},
		"many files":     {[]string{"many", "other"}, "out", nil, failure.Input, "and 2 more"},
		"dest in input":  {[]string{"in"}, "in/out", nil, failure.Usage, "inside of the input"},
		"no inputs":      {nil, "out", nil, failure.Usage, "no input"},
		"scheme":         {[]string{"s3://b/in"}, "out", nil, failure.Usage, "s3"},
		"no destination": {[]string{"in"}, "", func(r *Request) { r.Dest = "" }, failure.Usage, "empty location"},
		"strict":         {[]string{"odd"}, "out", options(func(o *manifest.Options) { o.Strict = true }), failure.Input, "odd/b.avro: with --strict"},
		"strict, reader": {[]string{"in"}, "out", func(r *Request) {
			r.Output.Strict, r.Schema = true, strings.Replace(avrotest.Schema, "]}", `,{"name":"a-b","type":"long","default":1}]}`, 1)
		}, failure.Usage, "the reader's schema: with --strict"},
		"strict, a field left out": {[]string{"in"}, "out", func(r *Request) {
			r.Output.Strict, r.Schema = true, `{"type":"record","name":"R","fields":[{"name":"s","type":"string"}]}`
		}, failure.Input, `in/a.avro has the field "id"`},
		"recursive":       {[]string{"list"}, "out", nil, failure.Input, "list/b.avro: field next: unsupported: recursive schema: L contains itself; --recursive bytes"},
		"no columns":      {[]string{"empty"}, "out", nil, failure.Input, "empty/b.avro"},
		"on damage":       {[]string{"in"}, "out", options(func(o *manifest.Options) { o.OnDamage = "ignore" }), failure.Usage, "ignore"},
		"row group":       {[]string{"in"}, "out", options(func(o *manifest.Options) { o.RowGroupSize = -1 }), failure.Usage, "a row group of -1 bytes"},
		"large row group": {[]string{"in"}, "out", options(func(o *manifest.Options) { o.RowGroupSize = maxSplit + 1 }), failure.Usage, "a row group of"},
		"input blocks":    {[]string{"in"}, "out", options(func(o *manifest.Options) { o.MaxInputBlock = -1 }), failure.Usage, "at most -1 bytes"},
		"column blocks":   {[]string{"in"}, "out", options(func(o *manifest.Options) { o.BlockSize = -1 }), failure.Usage, "column blocks of -1 bytes"},
		"large blocks":    {[]string{"in"}, "out", options(func(o *manifest.Options) { o.BlockSize = 1<<30 + 1 }), failure.Usage, "column blocks of"},
		"format":          {[]string{"in"}, "out", options(func(o *manifest.Options) { o.Format = "orc" }), failure.Usage, `unknown format "orc"`},
		"its options":     {[]string{"in"}, "out", options(func(o *manifest.Options) { o.FormatOptions = formatOptions("lzma") }), failure.Usage, "lzma"},
	} {
		t.Run(name, func(t *testing.T) {
			r := request(at(tc.dest))
			for _, in := range tc.inputs {
				if !strings.Contains(in, "://") {
					in = at(in)
				}
				r.Inputs = append(r.Inputs, in)
			}
			if tc.change != nil {
				tc.change(&r)
			}
			s, err := NewSurvey(t.Context(), r)
			failuretest.Want(t, err, tc.kind, tc.text)
			if s != nil {
				t.Errorf("Look returned an error and the survey %+v", s)
			}
		})
	}
	p := mustPlan(t, request(at("out"), at("odd")))
	if len(p.Warnings) == 0 || !strings.Contains(p.Warnings[0], "s-s") {
		t.Errorf("warnings of an odd schema: %q", p.Warnings)
	}
	r := request(at("out"), at("list"))
	r.Output.RecursiveBytes = true
	if p := mustPlan(t, r); p.Columns == 0 {
		t.Errorf("with the recursive part as bytes: %+v", p)
	}
}

func TestEmptyInputs(t *testing.T) {
	dir := t.TempDir()
	testenv.Must(t, os.MkdirAll(dir+"/none", 0o777))
	r := request(dir+"/out", dir+"/none")
	_, err := NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Input, dir+"/none holds no Avro file", "--allow-empty")
	r.AllowEmpty = true
	s := mustLook(t, r)
	p, err := s.Plan(t.Context(), "")
	if err != nil || s.Mapping != nil || p.ID == "" || len(p.Tasks) != 0 || len(s.Expect(p)) != 0 || p.BlockSize != manifest.DefaultBlockSize {
		t.Errorf("without inputs: %+v, %+v, %v", s, p, err)
	}
	if len(p.Warnings) != 1 || p.Warnings[0] != "the inputs hold no Avro file" {
		t.Errorf("without inputs: warnings %q", p.Warnings)
	}
	testenv.Must(t, os.WriteFile(dir+"/empty", nil, 0o666))
	r = request(dir+"/out", dir+"/empty")
	_, err = NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "the file is empty")
	r.Output.OnDamage = "skip"
	_, err = NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "all inputs are empty files")
	writeInput(t, dir+"/zero/a.avro", avrotest.Schema, 1, 0)
	writeInput(t, dir+"/zero/b.avro", avrotest.Schema, 2, 0)
	s = mustLook(t, request(dir+"/out", dir+"/zero"))
	p, err = s.Plan(t.Context(), "")
	if err != nil || len(p.Tasks) != 1 || p.Ratio != 1 || s.Expect(p)[0] != (Expected{1, s.empty.Size()}) {
		t.Errorf("without rows: %+v, %v", p, err)
	}
}

// writingStore is a store on which a writer has a file open.
type writingStore struct {
	store.Store
	file string
}

func (w writingStore) Open(ctx context.Context, p string) (store.File, error) {
	if p == w.file {
		return nil, fmt.Errorf("open %s: %w", p, store.ErrBeingWritten)
	}
	return w.Store.Open(ctx, p)
}

// TestFilesBeingWritten checks that a file that is still being written is left out if it was
// found, and refused if it was named.
func TestFilesBeingWritten(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "in")
	open := filepath.Join(in, "b.avro")
	writeInput(t, filepath.Join(in, "a.avro"), avrotest.Schema, 1, 2)
	writeInput(t, open, avrotest.Schema, 2, 2)
	for _, found := range []string{in, filepath.Join(in, "*.avro")} {
		r := request(filepath.Join(dir, "out"), found)
		r.Resolve = storetest.ResolveTo(writingStore{store.Local(), open})
		s := mustLook(t, r)
		if len(s.Request.Inputs) != 1 || len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], open) {
			t.Errorf("%s: inputs %+v, warnings %q", found, s.Request.Inputs, s.Warnings)
		}
		// After the writer closes it, the file is an input.
		r.Resolve = nil
		if d := s.Request.Differences(&mustLook(t, r).Request); len(d) != 1 {
			t.Errorf("%s: the closed file makes the differences %q", found, d)
		}
	}
	r := request(filepath.Join(dir, "out"), in, open)
	r.Resolve = storetest.ResolveTo(writingStore{store.Local(), open})
	_, err := NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Input, "still being written")
}

// TestInputsChangeBeforeTheSample checks that Plan refuses an input that was replaced or
// removed after its header was read.
func TestInputsChangeBeforeTheSample(t *testing.T) {
	dir := t.TempDir()
	in := dir + "/a.avro"
	writeInput(t, in, avrotest.Schema, 1, 2)
	s := mustLook(t, request(dir+"/out", in))
	writeInput(t, in, avrotest.Schema, 1, 3)
	_, err := s.Plan(t.Context(), "")
	failuretest.Want(t, err, failure.Input, "a.avro changed during the job")
	testenv.Must(t, os.Remove(in))
	_, err = s.Plan(t.Context(), "")
	failuretest.Want(t, err, failure.Input, "a.avro does not exist")
}

// TestDamagedInputs checks that damaged inputs are planned like undamaged ones, because tasks
// report the damage.
func TestDamagedInputs(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, dir+"/a.avro", avrotest.Schema, 1, 60)
	b, err := os.ReadFile(dir + "/a.avro")
	testenv.Must(t, err)
	clear(b[len(b)/2 : len(b)/2+4000])
	testenv.Must(t, os.WriteFile(dir+"/a.avro", b, 0o666))
	if p := mustPlan(t, request(dir+"/out", dir+"/a.avro")); len(p.Tasks) < 5 || math.Abs(p.Ratio-1) > 0.05 {
		t.Errorf("plan %+v", p)
	}
}
