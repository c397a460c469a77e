package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/job/manifest"
)

// TestMessagesNameWhatIsMissing checks that messages name what the user gave, without terms of the
// system.
func TestMessagesNameWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 10)
	write(t, dir+"/bad.json", []byte(`{"type":"recrd"}`))
	for _, args := range []string{"cat nodir", "head nodir", "count nodir", "stats nodir", "inspect nodir", "verify nodir", "schema nodir", "lookup nodir a", "cat in/nodir"} {
		rowtocol(t, dir, nil, strings.Fields(args)...).want(t, 3, "nodir does not exist").lacks(t, "lstat", "no such file")
	}
	rowtocol(t, dir, nil, "cat", "nodir/*.trv").want(t, 3, "no file matches the pattern").lacks(t, "file does not exist")
	rowtocol(t, dir, nil, "convert", "--schema", "bad.json", "in", "out").want(t, 1, "--schema: bad.json: ", "recrd")
	rowtocol(t, dir, nil, "convert", "--schema", "nope.json", "in", "out").want(t, 1, "--schema: nope.json does not exist").lacks(t, "was given")
	rowtocol(t, dir, nil, "convert", "--config", "nope.yaml", "in", "out").want(t, 1, "--config: nope.yaml does not exist").lacks(t, "no such file", "was given")
	rowtocol(t, dir, nil, "convert", "in", "new/sub/out").want(t, 7, "its parent directory does not exist; make it first: mkdir -p "+dir+"/new/sub")
	rowtocol(t, dir, nil, "convert", "in", "it's new/out").want(t, 7, "mkdir -p '"+dir+"/it")
	rowtocol(t, dir, nil, "convert", "--row-group-size", "1MiB", "in", "out").want(t, 0)
	rowtocol(t, dir, nil, "convert", "--codec", "id=null", "--index", "id", "in", "out").
		want(t, 9, "--row-group-size was 1MiB and is 128MiB", "--index was not set and is id", "--codec was not set and is id=null")
}

// TestDifferencesNameFlags changes each option of each format, and checks that the difference is
// named as the flag and its value.
func TestDifferencesNameFlags(t *testing.T) {
	samples := map[string][]string{
		"codec": {"id=null", "null"}, "compression": {"id=none", "snappy"}, "encoding": {"id=physical", "id=plain"}, "meta": {"a=b"}, "values": {"id"}, "checksum": {"null"},
		"sorted-by": {"id"}, "many-files": {"true"}, "key": {"id"}, "column": {"f:q"}, "timestamp": {"5"}, "block-codec": {"gz"}, "bloom": {"hudi"},
		"page-version": {"2"}, "times": {"spark"}, "invalid-utf8": {"replace"}, "bloom-filter": {"id"},
	}
	for _, f := range formats {
		for _, c := range f.Choices() {
			for _, value := range samples[c.Name] {
				before, now := map[string][]string{}, map[string][]string{c.Name: {value}}
				if f.Name() == "hfile" {
					before["key"] = []string{"other"}
					if c.Name != "key" {
						now["key"] = before["key"]
					}
				}
				docs := [2]manifest.Request{}
				for i, chosen := range []map[string][]string{before, now} {
					doc, err := f.Options(chosen)
					if err != nil && value == "id=physical" {
						continue // only cfile has it
					}
					must(t, err)
					docs[i].Options.FormatOptions = doc
				}
				texts := docs[0].Differences(&docs[1])
				if len(texts) == 0 && value != "id=physical" {
					t.Errorf("%s: --%s %s makes no difference", f.Name(), c.Name, value)
				}
				for _, text := range texts {
					if !strings.HasPrefix(text, "--"+c.Name+" was ") || strings.ContainsAny(text, `"{[`) {
						t.Errorf("%s: --%s %s: %q", f.Name(), c.Name, value, text)
					}
				}
			}
		}
	}
}

// TestResumeAfterUpgrade checks that a run which finds work of other writers plans anew, and says
// so.
func TestResumeAfterUpgrade(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 100)
	rowtocol(t, dir, nil, "plan", "in", "out", "-o", "plan.json").want(t, 0)
	doc := alterPlan(t, read(t, dir+"/plan.json"), true, func(p *manifest.Plan) { p.Revision-- })
	var other struct {
		ID string `json:"id"`
	}
	must(t, json.Unmarshal(doc, &other))
	write(t, dir+"/out/.rowtocol/plan-"+other.ID+"/plan.json", doc)
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "100 rows", "unfinished work of another version of rowtocol (plan "+other.ID+") is not resumed")
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, "status", "out").want(t, 0, other.ID)
}
