package manifest

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func samplePlan(t *testing.T) *Plan {
	t.Helper()
	p := &Plan{
		Version: Version,
		Options: Options{
			Format: "trevni", RowGroupSize: 128 << 20, BlockSize: 64 << 10, Codec: "snappy", Checksum: "crc32",
			ColumnCodecs: map[string]string{"b": "null", "a<b": "deflate"}, Meta: []KeyValue{{"k", "v"}},
		},
		Schema: `{"type":"string"}`, Columns: 1, SplitSize: 100, Ratio: 0.3333333333333333,
		Inputs: []Input{{Path: "in.avro", Size: 150, Identity: 0xffffffff, HeaderSize: 20}},
		Tasks: []Task{
			{ID: 0, Pieces: []Piece{{Input: 0, Start: 0, End: 100}}},
			{ID: 1, Pieces: []Piece{{Input: 0, Start: 100, End: 150}}},
		},
	}
	var err error
	if p.ID, err = p.Sum(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlanRoundTrip(t *testing.T) {
	p := samplePlan(t)
	b, err := p.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasSuffix(b, []byte("}\n")) {
		t.Errorf("document ends in %q", b[len(b)-3:])
	}
	got, err := DecodePlan(b)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, p) {
		t.Errorf("got %+v\nwant %+v", got, p)
	}
	again, err := got.Encode()
	if err != nil || !bytes.Equal(again, b) {
		t.Errorf("encoding again gives other bytes (%v)", err)
	}
}

func TestPlanIDCoversEverything(t *testing.T) {
	want := samplePlan(t).ID
	for name, change := range map[string]func(*Plan){
		"option":   func(p *Plan) { p.Options.BlockSize++ },
		"codec":    func(p *Plan) { p.Options.ColumnCodecs["b"] = "snappy" },
		"identity": func(p *Plan) { p.Inputs[0].Identity-- },
		"task":     func(p *Plan) { p.Tasks[1].Pieces[0].Start++ },
		"schema":   func(p *Plan) { p.Schema += " " },
	} {
		p := samplePlan(t)
		change(p)
		if got, err := p.Sum(); err != nil || got == want {
			t.Errorf("%s: a changed plan has the same ID (%v)", name, err)
		}
	}
}

func TestDecodePlanRefuses(t *testing.T) {
	resum := func(p *Plan) { p.ID, _ = p.Sum() }
	for name, tc := range map[string]struct {
		change func(*Plan)
		want   string
	}{
		"changed content": {func(p *Plan) { p.SplitSize++ }, "its content has the ID"},
		"unknown input":   {func(p *Plan) { p.Tasks[0].Pieces[0].Input = 1; resum(p) }, "outside of the inputs"},
		"beyond the end":  {func(p *Plan) { p.Tasks[1].Pieces[0].End = 151; resum(p) }, "outside of the inputs"},
		"task number":     {func(p *Plan) { p.Tasks[1].ID = 7; resum(p) }, "has the number 7"},
	} {
		p := samplePlan(t)
		tc.change(p)
		b, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := DecodePlan(b); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
}

func TestVersions(t *testing.T) {
	for doc, newer := range map[string]bool{
		`{"version":1,"plan":"x","task":3,"parts":null,"rows_in":0}`: false,
		`{"version":2,"plan":["new"]}`:                               true,
		`{"version":0}`:                                              true,
		`{}`:                                                         true,
	} {
		_, err := DecodeTaskResult([]byte(doc))
		if errors.Is(err, ErrVersion) != newer || (err != nil) != newer {
			t.Errorf("%s: %v", doc, err)
		}
	}
	for _, doc := range []string{``, `[]`, `{"version":1,"extra":1}`, `{"version":1} {}`, `{"version":1`} {
		if _, err := DecodeSuccess([]byte(doc)); err == nil {
			t.Errorf("%s: no error", doc)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"version":1,"id":"x","tasks":[{"id":0,"pieces":[{"input":0,"start":0,"end":1}]}]}`))
	f.Add([]byte(`{"version":1,"plan":"x","parts":[{"name":"part-00000.trv"}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		_, _ = DecodePlan(b)
		_, _ = DecodeTaskResult(b)
		if s, err := DecodeSuccess(b); err == nil {
			again, err := s.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if _, err := DecodeSuccess(again); err != nil {
				t.Fatal(err)
			}
		}
	})
}
