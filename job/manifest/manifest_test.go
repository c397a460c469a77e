package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
)

const (
	output  = "00112233445566ff"
	attempt = "aabbccddeeff0011"
)

func samplePlan(t *testing.T) *Plan {
	t.Helper()
	p := &Plan{
		Version: Version, Revision: Revision, Dest: "/out", Schema: `{"type":"string"}`, Columns: 1, BlockSize: 64 << 10, SplitSize: 100, Ratio: 0.3333333333333333,
		Request: Request{
			Inputs: []Input{{Path: "a.avro", Size: 150, Identity: 0xffffffff, HeaderSize: 20, CRC32C: new(uint32)}, {Path: "b.avro", Size: 30, HeaderSize: 20, CRC32C: new(uint32)}},
			Options: Options{
				Format: "trevni", RowGroupSize: 128 << 20, OnDamage: "quarantine",
				FormatOptions: json.RawMessage(`{"codec":"snappy","column_codecs":{"a<b":"deflate"}}`),
			},
		},
		Tasks: []Task{
			{ID: 0, Pieces: []Piece{{Input: 0, Start: 0, End: 100}}},
			{ID: 1, Pieces: []Piece{{Input: 0, Start: 100, End: 150}, {Input: 1, End: 30}}},
		},
		Made: &Made{Program: "1.2.3", At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
	}
	return resum(t, p)
}

func resum(t *testing.T, p *Plan) *Plan {
	t.Helper()
	var err error
	if p.ID, err = p.Sum(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlanRoundTrip(t *testing.T) {
	p := samplePlan(t)
	b, err := p.Encode()
	testenv.Must(t, err)
	if !bytes.HasSuffix(b, []byte("}\n")) {
		t.Errorf("document ends in %q", b[len(b)-3:])
	}
	got, err := DecodePlan(b)
	testenv.Must(t, err)
	if d := p.Request.Differences(&got.Request); len(d) > 0 {
		t.Errorf("the request differs: %q", d)
	}
	again, err := got.Encode()
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("encoding again gives other bytes (%v)", err)
	}
}

func TestPlanID(t *testing.T) {
	want := samplePlan(t).ID
	for name, change := range map[string]func(*Plan){
		"option":        func(p *Plan) { p.Request.Options.RowGroupSize++ },
		"format option": func(p *Plan) { p.Request.Options.FormatOptions = json.RawMessage(`{"codec":"null"}`) },
		"identity":      func(p *Plan) { p.Request.Inputs[0].Identity-- },
		"block size":    func(p *Plan) { p.BlockSize++ },
		"task":          func(p *Plan) { p.Tasks[1].Pieces[0].Start++ },
		"schema":        func(p *Plan) { p.Schema += " " },
		"destination":   func(p *Plan) { p.Dest = "/other" },
		"base":          func(p *Plan) { p.Base = output },
		"increment":     func(p *Plan) { p.Increment = true },
		"nonce":         func(p *Plan) { p.Nonce = output },
		"revision":      func(p *Plan) { p.Revision++ },
	} {
		p := samplePlan(t)
		change(p)
		if got, err := p.Sum(); err != nil || got == want {
			t.Errorf("%s: a changed plan has the same ID (%v)", name, err)
		}
	}
	p := samplePlan(t)
	p.Made, p.Warnings = &Made{Program: "2.0.0"}, []string{"a warning"}
	p.Request.Inputs[0].ModTime = time.Now()
	if got, err := p.Sum(); err != nil || got != want {
		t.Errorf("the program that made a plan, a warning or a time changes its ID (%v)", err)
	}
	if p.Request.Inputs[0].ModTime.IsZero() {
		t.Error("the plan lost the time of an input")
	}
}

func TestDecodePlanRefuses(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Plan)
		sum    bool
		want   string
	}{
		"changed content": {func(p *Plan) { p.SplitSize++ }, false, "its content has the ID"},
		"unknown input":   {func(p *Plan) { p.Tasks[0].Pieces[0].Input = 2 }, true, "outside of the inputs"},
		"negative input":  {func(p *Plan) { p.Tasks[0].Pieces[0].Input = -1 }, true, "outside of the inputs"},
		"beyond the end":  {func(p *Plan) { p.Tasks[1].Pieces[0].End = 151 }, true, "outside of the inputs"},
		"a gap":           {func(p *Plan) { p.Tasks[1].Pieces[0].Start++ }, true, "before end at byte 100"},
		"an overlap":      {func(p *Plan) { p.Tasks[1].Pieces[0].Start-- }, true, "before end at byte 100"},
		"backwards":       {func(p *Plan) { p.Tasks[0].Pieces[0].End = -1 }, true, "before end at byte 0"},
		"one input less":  {func(p *Plan) { p.Tasks[1].Pieces = p.Tasks[1].Pieces[:1] }, true, "end at byte 0 of 30 of b.avro"},
		"task number":     {func(p *Plan) { p.Tasks[1].ID = 7 }, true, "has the number 7"},
		"other writers":   {func(p *Plan) { p.Revision++ }, true, "of revision 3 of the writers, and this program has 2; make the plan again"},
	} {
		p := samplePlan(t)
		tc.change(p)
		if tc.sum {
			resum(t, p)
		}
		b, err := p.Encode()
		testenv.Must(t, err)
		if _, err := DecodePlan(b); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

// TestPlanOfANewerProgram checks that an unknown field is refused in each place of a plan that
// may have one, because this program cannot check its hash.
func TestPlanOfANewerProgram(t *testing.T) {
	b, err := samplePlan(t).Encode()
	testenv.Must(t, err)
	for place, with := range map[string]string{
		`"request": {`: `"request": {"shuffle": true, `,
		`"format": `:   `"shuffle": 1, "format": `,
		`"identity": `: `"shuffle": "x", "identity": `,
		`"tasks": `:    `"shuffle": null, "tasks": `,
		`"pieces": `:   `"shuffle": [], "pieces": `,
		`"program": `:  `"shuffle": {}, "program": `,
	} {
		newer := bytes.Replace(b, []byte(place), []byte(with), 1)
		if bytes.Equal(newer, b) {
			t.Fatalf("there is no %s", place)
		}
		if _, err := DecodePlan(manifesttest.Seal(newer)); err == nil || !strings.Contains(err.Error(), "newer program") || !strings.Contains(err.Error(), `"shuffle"`) {
			t.Errorf("%s: %v", with, err)
		}
	}
	bare, err := encodeJSON(samplePlan(t))
	testenv.Must(t, err)
	if _, err := DecodePlan(manifesttest.Seal(slices.Concat(bare, bare))); err == nil || strings.Contains(err.Error(), "newer") {
		t.Errorf("two plans: %v", err)
	}
}

func sampleResult() *TaskResult {
	return &TaskResult{
		Version: Version, Plan: "p", Task: 3, RowsIn: 7,
		Parts: []Part{
			{Task: 3, RowGroup: 0, Rows: 5, Files: []File{{Name: StagedPart(3, 0, attempt, ".trv"), Role: "data", Bytes: 10, CRC32C: 1, StoreChecksum: "MD5:1"}}},
			{Task: 3, RowGroup: 1, Rows: 2, Files: []File{{Name: StagedPart(3, 1, attempt, ".trv"), Bytes: 20}}},
		},
		Losses: []Loss{
			{Input: "a.avro", Start: 5, End: 9, Rows: -1, Reason: "sync", Quarantine: &File{
				Name: StagedQuarantine(attempt, 0, "/x/a.avro", 5, 9), Bytes: 4, StoreChecksum: "MD5:2",
			}},
			{Input: "a.avro", Start: 20, End: 30, Rows: 4},
		},
		Side: []File{{Name: StagedSide(attempt, 3, "keys"), Bytes: 7}, {Name: StagedSide(attempt, 3, "keys-1"), Bytes: 8}},
	}
}

// lastResult returns the result of the last step before an output is published.
func lastResult() *TaskResult {
	return &TaskResult{
		Version: Version, Plan: "p", Task: 4,
		Index: []File{{Name: StagedIndex(attempt, "id"), Bytes: 9, StoreChecksum: "MD5:3"}, {Name: StagedIndex(attempt, "name"), Bytes: 9}},
	}
}

func TestTaskResult(t *testing.T) {
	r := sampleResult()
	if n := r.LostRows(); n != 5 {
		t.Errorf("%d rows are lost, want 1 and 4", n)
	}
	b, err := r.Encode()
	testenv.Must(t, err)
	got, err := DecodeTaskResult(b, "p", 3)
	if err != nil || !reflect.DeepEqual(got, r) {
		t.Errorf("got %+v, %v", got, err)
	}
	if len(got.Files()) != 5 || len(got.Entries()) != 5 {
		t.Errorf("files %+v", got.Files())
	}
	for name, change := range map[string]func(*TaskResult){
		"another plan":       func(r *TaskResult) { r.Plan = "q" },
		"another task":       func(r *TaskResult) { r.Task = 4 },
		"outside":            func(r *TaskResult) { r.Parts[0].Files[0].Name = "../" + r.Parts[0].Files[0].Name },
		"another row group":  func(r *TaskResult) { r.Parts[0].RowGroup = 2 },
		"a part's task":      func(r *TaskResult) { r.Parts[0].Task = 4 },
		"a copy's name":      func(r *TaskResult) { r.Losses[0].Quarantine.Name = "plan.json" },
		"a copy's directory": func(r *TaskResult) { r.Losses[0].Quarantine.Name += "/x@1-2" },
		"a negative length":  func(r *TaskResult) { r.Parts[1].Files[0].Bytes = -1 },
		"negative rows":      func(r *TaskResult) { r.Parts[0].Rows += r.Parts[1].Rows + 1; r.Parts[1].Rows = -1 },
		"no file":            func(r *TaskResult) { r.Parts[1].Files = nil },
		"repeated part":      func(r *TaskResult) { r.Parts = append(r.Parts, r.Parts[0]) },
		"copies of one range": func(r *TaskResult) {
			f := File{Name: StagedQuarantine(output, 0, "/x/a.avro", 5, 9), Bytes: 4}
			r.Losses[1].Quarantine = &f
		},
		"too many rows":               func(r *TaskResult) { r.RowsIn++ },
		"a side file's name":          func(r *TaskResult) { r.Side[0].Name = "plan.json" },
		"a side file of another task": func(r *TaskResult) { r.Side[0].Name = StagedSide(attempt, 4, "keys") },
		"a side file's directory":     func(r *TaskResult) { r.Side[0].Name += "/x" },
		"a repeated side file":        func(r *TaskResult) { r.Side[1] = r.Side[0] },
		"side files of two attempts":  func(r *TaskResult) { r.Side[1].Name = StagedSide(output, 3, "keys") },
		"an index of one task":        func(r *TaskResult) { r.Index = lastResult().Index },
		"version":                     func(r *TaskResult) { r.Version = 1 },
	} {
		r := sampleResult()
		change(r)
		b, err := r.Encode()
		testenv.Must(t, err)
		if _, err := DecodeTaskResult(b, "p", 3); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestLastResult(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*TaskResult)
		want   bool
	}{
		"unchanged":   {func(*TaskResult) {}, true},
		"no index":    {func(r *TaskResult) { r.Index = nil }, true},
		"a part":      {func(r *TaskResult) { r.Index[0].Name = StagedPart(3, 0, attempt, ".trv") }, false},
		"outside":     {func(r *TaskResult) { r.Index[0].Name += "/../../x" }, false},
		"no attempt":  {func(r *TaskResult) { r.Index[0].Name = "index-id" }, false},
		"hidden":      {func(r *TaskResult) { r.Index[0].Name = StagedIndex(attempt, ".id") }, false},
		"directory":   {func(r *TaskResult) { r.Index[0].Name += "/00000" }, true},
		"hidden file": {func(r *TaskResult) { r.Index[0].Name += "/.id" }, false},
		"too deep":    {func(r *TaskResult) { r.Index[0].Name += "/a/b" }, false},
		"repeated file": {func(r *TaskResult) {
			r.Index[0].Name += "/a"
			r.Index[1].Name = r.Index[0].Name
		}, false},
		"repeated name": {func(r *TaskResult) { r.Index[0].Name = StagedIndex(output, "name") }, false},
	} {
		r := lastResult()
		tt.change(r)
		b, err := r.Encode()
		testenv.Must(t, err)
		if got, err := DecodeTaskResult(b, "p", 4); (err == nil) != tt.want || err == nil && !reflect.DeepEqual(got, r) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestSuccess(t *testing.T) {
	p := samplePlan(t)
	empty := &TaskResult{Task: 0, Parts: []Part{{Task: 0, Files: []File{{Name: StagedPart(0, 0, attempt, ".trv"), Bytes: 1}}}}}
	s := NewSuccess(p, output, []*TaskResult{empty, sampleResult(), lastResult()})
	if s.Rows != 7 || s.Bytes != 30 || len(s.Parts) != 2 || len(s.Losses) != 2 {
		t.Errorf("made %+v", s)
	}
	want := []string{"part-00003-0-" + output + ".trv", "part-00003-1-" + output + ".trv", "_quarantine/" + output + "/00000-a.avro@5-9", "_index/" + output + "/id", "_index/" + output + "/name"}
	if len(s.Files()) != len(want) || len(s.Entries()) != len(want) {
		t.Fatalf("files %+v", s.Files())
	}
	for i, f := range s.Files() {
		if f.Name != want[i] {
			t.Errorf("file %d is %s, want %s", i, f.Name, want[i])
		}
		if f.StoreChecksum != "" {
			t.Errorf("%s has the checksum of the staged file: %s", f.Name, f.StoreChecksum)
		}
	}
	if s := NewSuccess(p, output, []*TaskResult{empty}); len(s.Parts) != 1 {
		t.Error("an output without rows has no part to show its columns")
	}
	b, err := s.Encode()
	testenv.Must(t, err)
	got, err := DecodeSuccess(b)
	testenv.Must(t, err)
	if d := got.Request.Differences(&p.Request); len(d) > 0 {
		t.Errorf("the request differs from the plan's: %q", d)
	}
	more := bytes.Replace(b, []byte(`"version": 2`), []byte(`"later": {"x": 1}, "version": 2`), 1)
	if _, err := DecodeSuccess(manifesttest.Seal(more)); err != nil {
		t.Errorf("a field of a later program: %v", err)
	}
	for name, change := range map[string]func(*Success){
		"ID":                 func(s *Success) { s.ID = "../../etc" },
		"outside":            func(s *Success) { s.Parts[0].Files[0].Name = "sub/x" },
		"another output":     func(s *Success) { s.Parts[0].Files[0].Name = PartName(3, 0, attempt, ".trv") },
		"a staged part":      func(s *Success) { s.Parts[0].Files[0].Name = StagedPart(3, 0, output, ".trv") },
		"an index":           func(s *Success) { s.Index[0].Name = "_index/" + output + "/x/y/z" },
		"index of another":   func(s *Success) { s.Index[0].Name = "_index/" + attempt + "/id" },
		"a part as an index": func(s *Success) { s.Index[0].Name = "part-00009-0-" + output + ".trv" },
		"an index as a part": func(s *Success) { s.Parts[0].Files[0].Name = "_index/" + output + "/x" },
		"a copy as a part":   func(s *Success) { s.Parts[0].Files[0].Name = "_quarantine/" + output + "/00001-a.avro@5-9" },
		"an index as a copy": func(s *Success) { s.Losses[0].Quarantine.Name = "_index/" + output + "/x" },
		"another place":      func(s *Success) { s.Index[0].Name = "_quarantine/" + output + "/id" },
		"repeated index":     func(s *Success) { s.Index[0] = s.Index[1] },
		"a copy":             func(s *Success) { s.Losses[0].Quarantine.Name = "_quarantine/" + output + "/../../x" },
		"repeated part":      func(s *Success) { s.Parts[1] = s.Parts[0] },
		"rows":               func(s *Success) { s.Rows -= s.Parts[0].Rows + 5; s.Parts[0].Rows = -5 },
		"row group":          func(s *Success) { s.Parts[0].RowGroup = -1 },
		"version":            func(s *Success) { s.Version = 3 },
		"number":             func(s *Success) { s.Sequence = math.MaxInt64 },
		"no number":          func(s *Success) { s.Sequence = -1 },
		"null":               func(s *Success) { s.Parts = nil },
		"no parts":           func(s *Success) { s.Parts, s.Rows, s.Bytes = nil, 0, 0 },
		"order":              func(s *Success) { slices.Reverse(s.Parts) },
		"another task":       func(s *Success) { s.Parts[0].Task-- },
		"another row group":  func(s *Success) { s.Parts[len(s.Parts)-1].RowGroup++ },
		"rows of all":        func(s *Success) { s.Rows++ },
		"too many rows":      func(s *Success) { s.Parts[0].Rows, s.Parts[1].Rows, s.Rows = math.MaxInt64, math.MaxInt64, -2 },
		"bytes of all":       func(s *Success) { s.Bytes-- },
		"too many bytes": func(s *Success) {
			s.Parts[0].Files[0].Bytes, s.Parts[1].Files[0].Bytes, s.Bytes = math.MaxInt64, math.MaxInt64, -2
		},
		"input unread":       func(s *Success) { s.Request.Inputs = []Input{{Path: "a.avro", Size: 150}, s.Request.Inputs[1]} },
		"losses not allowed": func(s *Success) { s.Request.Options.OnDamage = "fail" },
		"lost of another":    func(s *Success) { s.Losses[1].Input, s.Losses[1].Start, s.Losses[1].End = "z.avro", 0, 0 },
		"lost before":        func(s *Success) { s.Losses[1].Start = -1 },
		"lost after":         func(s *Success) { s.Losses[1].End = 1 << 40 },
		"lost backwards":     func(s *Success) { s.Losses[1].Start = s.Losses[1].End + 1 },
		"lost rows":          func(s *Success) { s.Losses[1].Rows = -2 },
		"lost length":        func(s *Success) { s.Losses[0].Quarantine.Bytes++ },
	} {
		s, err := DecodeSuccess(b)
		testenv.Must(t, err)
		change(s)
		changed, err := s.Encode()
		testenv.Must(t, err)
		if _, err := DecodeSuccess(changed); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// resummed returns a document with a new checksum of its bytes. The last field may be any
// field.
func resummed(b []byte) []byte {
	n := len(b) - len(documentEnd) - checksumDigits
	return fmt.Appendf(bytes.Clone(b[:n]), "%08x%s", crc32.Checksum(b[:n], castagnoli), documentEnd)
}

// TestChecksum checks that a document is read as it was written, and refused if any byte
// is changed, removed or added, except white space at its end.
func TestChecksum(t *testing.T) {
	p := samplePlan(t)
	for name, doc := range map[string]struct {
		encode func() ([]byte, error)
		decode func([]byte) error
	}{
		"plan":        {p.Encode, func(b []byte) error { _, err := DecodePlan(b); return err }},
		"task result": {sampleResult().Encode, func(b []byte) error { _, err := DecodeTaskResult(b, "p", 3); return err }},
		"_SUCCESS":    {NewSuccess(p, output, []*TaskResult{sampleResult()}).Encode, func(b []byte) error { _, err := DecodeSuccess(b); return err }},
	} {
		b, err := doc.encode()
		testenv.Must(t, err)
		if err := doc.decode(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if sealed := manifesttest.Seal(b); !bytes.Equal(sealed, b) {
			t.Errorf("%s ends with %q, want %q", name, b[len(b)-20:], sealed[len(sealed)-20:])
		}
		for i := range b {
			changed := bytes.Clone(b)
			changed[i] ^= 1
			for change, altered := range map[string][]byte{"changed": changed, "removed": slices.Delete(bytes.Clone(b), i, i+1), "the first missing": b[:i]} {
				if err := doc.decode(altered); !errors.Is(err, ErrAltered) {
					t.Fatalf("%s: byte %d of %d is %s: %v", name, i, len(b), change, err)
				}
			}
		}
		other := resummed(bytes.ReplaceAll(b, []byte(`"crc32c": "`), []byte(`"crc32d": "`)))
		for _, altered := range [][]byte{nil, []byte(documentEnd), []byte(checksumField + documentEnd), other} {
			if err := doc.decode(altered); !errors.Is(err, ErrAltered) {
				t.Errorf("%s: %.20q: %v", name, altered, err)
			}
		}
		for _, more := range []string{"\n", " ", "}", "\x00", string(b)} {
			for _, altered := range []string{string(b) + more, more + string(b)} {
				if err := doc.decode([]byte(altered)); !errors.Is(err, ErrAltered) {
					t.Errorf("%s: %.10q before or after the document: %v", name, more, err)
				}
			}
		}
	}
}

func TestVersions(t *testing.T) {
	for doc, other := range map[string]bool{
		`{"version":2,"plan":"p","task":3,"parts":null,"rows_in":0}`:           false,
		`{"version":2,"plan":"p","task":3,"parts":null,"rows_in":0,"later":1}`: false,
		`{"version":3,"plan":["new"]}`:                                         true,
		`{"version":1}`:                                                        true,
		`{"plan":"p"}`:                                                         true,
	} {
		_, err := DecodeTaskResult(manifesttest.Seal([]byte(doc)), "p", 3)
		if errors.Is(err, ErrVersion) != other || (err != nil) != other {
			t.Errorf("%s: %v", doc, err)
		}
	}
	for _, doc := range []string{``, "\x00", `[]`, `{"version":2}`, `{"version":2} {}`, `{"version":2`, `{"version":"2"}`, `{"version":1,"x":1}`} {
		if _, err := DecodeSuccess(manifesttest.Seal([]byte(doc))); err == nil {
			t.Errorf("%s: no error", doc)
		}
	}
}

func TestDifferences(t *testing.T) {
	modified := time.Unix(1e9, 0).UTC()
	sum := func(crc uint32) *uint32 { return &crc }
	request := func() *Request {
		r := samplePlan(t).Request
		for i := range r.Inputs {
			r.Inputs[i].ModTime, r.Inputs[i].CRC32C = modified, nil
		}
		return &r
	}
	for name, tc := range map[string]struct {
		change func(*Request)
		want   string
	}{
		"nothing":       {func(*Request) {}, ""},
		"other spacing": {func(r *Request) { r.Options.FormatOptions = append([]byte("\n "), r.Options.FormatOptions...) }, ""},
		"input added":   {func(r *Request) { r.Inputs = append(r.Inputs, Input{Path: "c.avro"}) }, "input c.avro was added"},
		"input removed": {func(r *Request) { r.Inputs = r.Inputs[:1] }, "input b.avro is not named"},
		"input grew":    {func(r *Request) { r.Inputs[1].Size = 31 }, "input b.avro changed: it had 30 bytes and has 31"},
		"input changed": {func(r *Request) { r.Inputs[1].Identity = 255 }, "input b.avro changed: its identity was 00000000 and is 000000ff"},
		"input touched": {func(r *Request) { r.Inputs[1].ModTime, r.Inputs[1].CRC32C = time.Now(), sum(7) }, ""},
		"input rewritten": {func(r *Request) { r.Inputs[1].ModTime, r.Inputs[1].CRC32C = time.Now(), sum(8) },
			"input b.avro changed: the CRC-32C of its bytes was 00000007 and is 00000008"},
		"input not read": {func(r *Request) { r.Inputs[1].ModTime = modified.Add(time.Second) },
			"input b.avro changed: it was modified at 2001-09-09T01:46:40Z and at 2001-09-09T01:46:41Z"},
		"option":         {func(r *Request) { r.Options.RowGroupSize = 1 << 20 }, "--row-group-size was 128MiB and is 1MiB"},
		"option not set": {func(r *Request) { r.Options.Strict = true }, "--strict was not set and is true"},
		"format's option": {func(r *Request) {
			r.Options.FormatOptions = json.RawMessage(`{"codec":"null","column_codecs":{"a<b":"deflate"}}`)
		}, `--codec was snappy and is null`},
		"format's option with the name of a general one": {func(r *Request) {
			r.Options.FormatOptions = json.RawMessage(`{"strict":"very","codec":"snappy","column_codecs":{"a<b":"deflate"}}`)
		}, `--strict was not set and is very`},
		"format's options are not an object": {func(r *Request) {
			r.Options.Strict, r.Options.FormatOptions = true, json.RawMessage(`[1]`)
		}, `--strict was not set and is true|--codec was snappy and is not set|--codec was a<b=deflate and is not set|--format-options was not set and is [1]`},
		"no format option": {func(r *Request) { r.Options.FormatOptions = nil }, `--codec was snappy and is not set|--codec was a<b=deflate and is not set`},
		"format": {func(r *Request) {
			r.Options.Format, r.Options.FormatOptions = "parquet", json.RawMessage(`{"page_version":1}`)
		}, `--format was trevni and is parquet`},
		"schema": {func(r *Request) { r.Schema = `"string"` }, "a schema is given to resolve to, and was not"},
	} {
		before, now := request(), request()
		now.Inputs = append([]Input(nil), now.Inputs...)
		tc.change(now)
		for i := range before.Inputs {
			before.Inputs[i].CRC32C = sum(7)
		}
		if got := strings.Join(before.Differences(now), "|"); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
	a, b := &Request{Schema: "x"}, &Request{Schema: "y"}
	if d := a.Differences(b); len(d) != 1 {
		t.Errorf("two schemas: %q", d)
	}
	if d := a.Differences(&Request{Schema: "x", SchemaKept: true}); len(d) != 1 || !strings.Contains(d[0], "asked for") {
		t.Errorf("a schema that is not requested any more: %q", d)
	}
	if d := a.Differences(&Request{}); len(d) != 1 {
		t.Errorf("no schema any more: %q", d)
	}
	b.SchemaCanonical = "z"
	if d := a.Differences(b); len(d) != 1 {
		t.Errorf("a schema without its canonical text, and another: %q", d)
	}
	if d := a.Differences(&Request{Schema: "x", SchemaCanonical: "z"}); len(d) != 0 {
		t.Errorf("a schema without its canonical text: %q", d)
	}
	if d := b.Differences(&Request{Schema: "w", SchemaCanonical: "z"}); len(d) != 0 {
		t.Errorf("two texts of one schema: %q", d)
	}
}

// TestDifferencesFromInputs checks that _SUCCESS lists how rows differ from the inputs.
func TestDifferencesFromInputs(t *testing.T) {
	p := samplePlan(t)
	p.LeftOut = []LeftOut{{Field: "a.b", Input: "a.avro", Inputs: 1}}
	resum(t, p)
	one, two := sampleResult(), sampleResult()
	one.Inexact, two.Inexact = shred.Inexact{EnumDefaults: 1, Rounded: 2}, shred.Inexact{Rounded: 4}
	s := NewSuccess(p, output, []*TaskResult{one, two})
	if !reflect.DeepEqual(s.LeftOut, p.LeftOut) || s.Inexact != (shred.Inexact{EnumDefaults: 1, Rounded: 6}) || s.Inexact.Values() != 7 {
		t.Errorf("%+v, %+v", s.LeftOut, s.Inexact)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":2,"id":"x","tasks":[{"id":0,"pieces":[{"input":0,"start":0,"end":1}]}]}`))
	f.Add([]byte(`{"version":2,"id":"` + output + `","parts":[{"files":[{"name":"part-00000-0-` + output + `.trv"}]}]}`))
	f.Add([]byte(`{"version":2,"id":"` + output + `","parts":[{"files":[{"name":"part-00000-0-` + output + `.cfiles/a"}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodeSuccess(b)
		b = manifesttest.Seal(b)
		_, _ = DecodePlan(b)
		_, _ = DecodeTaskResult(b, "x", 0)
		_, _ = DecodePending(b)
		_, _ = DecodeKept(b)
		s, err := DecodeSuccess(b)
		if err != nil {
			return
		}
		again, err := s.Encode()
		testenv.Must(t, err)
		if _, err := DecodeSuccess(again); err != nil {
			t.Fatal(err)
		}
	})
}
