package manifest

import (
	"strings"
	"testing"
)

func TestIndexNames(t *testing.T) {
	for fields, want := range map[string]string{
		"id": "id", "sender.name,date": "sender.name=2Cdate", "_a": "=5Fa", "naïve": "na=C3=AFve", "a=b": "a=3Db", "a_b-c": "a_b-c",
	} {
		if got := IndexName(fields); got != want {
			t.Errorf("%q is %q, want %q", fields, got, want)
		}
	}
}

// TestLongIndexNames checks that names of indexes on long fields fit a file system, with a
// suffix, and differ.
func TestLongIndexNames(t *testing.T) {
	seen := map[string]string{}
	for n := range 300 {
		for _, end := range []string{"a", "b", "ä", ",a"} {
			fields := strings.Repeat("x", n) + end
			name := IndexName(fields)
			if !IsFileName(name+".hfile") || seen[name] != "" {
				t.Fatalf("%q and %q are %q", fields, seen[name], name)
			}
			seen[name] = fields
		}
	}
}

// indexed returns an output with two indexes. The first has two files.
func indexed(id string) *Success {
	file := func(fields string, number int, first, last string, entries int64) File {
		return File{
			Name: "_index/" + id + "/" + IndexName(fields) + "/" + IndexFile(number, ".keys"), Bytes: 100,
			Keys: &KeyRange{First: []byte(first), Last: []byte(last), Entries: entries},
		}
	}
	return &Success{
		ID: id, Rows: 10, Schema: `"long"`, Request: Request{Options: Options{Index: []string{"id", "a,b"}}},
		Index: []File{file("id", 0, "a", "c", 3), file("id", 1, "c", "x", 6), file("a,b", 0, "k", "k", 10)},
	}
}

func TestIndexesAreChecked(t *testing.T) {
	const id = "0123456789abcdef"
	for name, c := range map[string]struct {
		change func(s *Success)
		reason string // empty if the index is valid
	}{
		"unchanged":          {func(*Success) {}, ""},
		"no rows":            {func(s *Success) { s.Schema, s.Index = "", nil }, ""},
		"no keys":            {func(s *Success) { *s.Index[2].Keys = KeyRange{} }, ""},
		"another sink":       {func(s *Success) { s.Request.Options.Index, s.Index = nil, []File{{Name: "_index/" + id + "/s/lines"}} }, ""},
		"no index":           {func(s *Success) { s.Index = nil }, "id is not listed"},
		"one index":          {func(s *Success) { s.Index = s.Index[:2] }, "a,b is not listed"},
		"another order":      {func(s *Success) { s.Request.Options.Index = []string{"a,b", "id"} }, "a,b is not listed"},
		"not asked for":      {func(s *Success) { s.Request.Options.Index = []string{"id"} }, "an index that was not asked for"},
		"none was asked for": {func(s *Success) { s.Request.Options.Index = nil }, "an index that was not asked for"},
		"a file is gone":     {func(s *Success) { s.Index = s.Index[1:] }, "as file 0"},
		"the order of files": {func(s *Success) { s.Index[0], s.Index[1] = s.Index[1], s.Index[0] }, "as file 0"},
		"without keys":       {func(s *Success) { s.Index[1].Keys = nil }, "as file 1"},
		"negative rows":      {func(s *Success) { s.Index[0].Keys.Entries = -1 }, "-1 keys"},
		"too many rows":      {func(s *Success) { s.Index[1].Keys.Entries = 8 }, "8 keys"},
		"far too many":       {func(s *Success) { s.Index[0].Keys.Entries = 1 << 62 }, "keys"},
		"an empty file":      {func(s *Success) { s.Index[0].Keys.Entries = 0 }, "0 keys"},
		"backwards":          {func(s *Success) { s.Index[1].Keys.Last = []byte("b") }, "do not follow"},
		"they overlap":       {func(s *Success) { s.Index[1].Keys.First = []byte("b") }, "do not follow"},
	} {
		s := indexed(id)
		c.change(s)
		err := s.checkIndex()
		if c.reason == "" && err != nil || c.reason != "" && (err == nil || !strings.Contains(err.Error(), c.reason)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestFingerprint(t *testing.T) {
	parts := func() []Part {
		return []Part{
			{Rows: 5, Files: []File{{Name: "part-00000-0-x", Bytes: 10, CRC32C: 1}}},
			{Task: 1, Rows: 7, Files: []File{{Name: "part-00001-0-x", Bytes: 12, CRC32C: 2}, {Role: "index", Bytes: 1}}},
		}
	}
	all := Fingerprint(parts())
	for name, c := range map[string]struct {
		change func(p []Part) []Part
		same   bool
	}{
		"unchanged":     {func(p []Part) []Part { return p }, true},
		"other names":   {func(p []Part) []Part { p[0].Files[0].Name = "part-00000-0-y"; return p }, true},
		"an empty part": {func(p []Part) []Part { return append(p, Part{Task: 2, Files: []File{{Bytes: 3}}}) }, true},
		"one part less": {func(p []Part) []Part { return p[:1] }, false},
		"another task":  {func(p []Part) []Part { p[1].Task = 2; return p }, false},
		"another group": {func(p []Part) []Part { p[1].RowGroup = 2; return p }, false},
		"rows":          {func(p []Part) []Part { p[1].Rows++; return p }, false},
		"size":          {func(p []Part) []Part { p[1].Files[1].Bytes++; return p }, false},
		"checksum":      {func(p []Part) []Part { p[1].Files[1].CRC32C++; return p }, false},
		"another order": {func(p []Part) []Part { p[0], p[1] = p[1], p[0]; return p }, false},
	} {
		if got := Fingerprint(c.change(parts())); (got == all) != c.same {
			t.Errorf("%s: %s; unchanged: %s", name, got, all)
		}
	}
}
