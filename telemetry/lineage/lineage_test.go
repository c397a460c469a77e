package lineage

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/telemetry/report"
)

func TestMain(m *testing.M) {
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.HasPrefix(name, "OPENLINEAGE") || strings.HasPrefix(name, "AIRFLOW") {
			_ = os.Unsetenv(name)
		}
	}
	goleak.VerifyTestMain(m)
}

const nested = `{"type":"record","name":"Mail","namespace":"t","fields":[
	{"name":"id","type":"long"},
	{"name":"date","type":{"type":"int","logicalType":"date"}},
	{"name":"from","type":["null",{"type":"record","name":"Address","fields":[{"name":"host","type":"string"}]}]},
	{"name":"to","type":{"type":"array","items":"Address"}},
	{"name":"tags","type":{"type":"map","values":"bytes"}},
	{"name":"either","type":["null","string","t.Mail"]}]}`

var began = time.Date(2026, 11, 22, 2, 10, 0, 5e6, time.UTC)

// newRun returns a run that has ended.
func newRun(status string) *report.Run {
	return &report.Run{
		ID: "0123456789abcdef", Command: "convert", Version: "v1.2.3", Dest: "hdfs://nn:8020/data//mail.columns/",
		Began: began, Ended: began.Add(time.Minute), Status: status,
		Inputs:     []report.Input{{Path: "/data/mail/a/1.avro", Bytes: 10}, {Path: "/data/mail/b/2.avro", Bytes: 5}, {Path: "/data/late.avro", Bytes: 1}},
		InputBytes: 16, Rows: 30, Bytes: 40, Files: 2, Schema: nested, OutputID: "fedcba9876543210",
	}
}

var named = []string{"/data/mail", "/data/late.avro", "/data/mail"}

// toJSON returns an event as a JSON object, whose facets it checks.
func toJSON(t *testing.T, e *Event) map[string]any {
	t.Helper()
	text, err := json.Marshal(e)
	testenv.Must(t, err)
	var v map[string]any
	testenv.Must(t, json.Unmarshal(text, &v))
	checkFacets(t, v)
	return v
}

var schemaURL = regexp.MustCompile(`^https://openlineage\.io/spec/facets/\d-\d-\d/(\w+)\.json#/\$defs/(\w+)$`)

// checkFacets checks that each facet in a value names its producer and definition.
func checkFacets(t *testing.T, v any) {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			checkFacets(t, item)
		}
	case map[string]any:
		for key, value := range v {
			if key == "facets" || key == "inputFacets" || key == "outputFacets" {
				for name, f := range value.(map[string]any) {
					f := f.(map[string]any)
					url, _ := f["_schemaURL"].(string)
					m := schemaURL.FindStringSubmatch(url)
					if f["_producer"] != producer || m == nil || m[1] != m[2] || !strings.HasPrefix(strings.ToLower(m[1]), strings.ToLower(strings.ReplaceAll(name, "_", ""))) {
						t.Errorf("facet %s: %v", name, f)
					}
				}
			}
			checkFacets(t, value)
		}
	}
}

// jsonAt returns the value at a path of an object, as JSON. The result is empty if there is no
// value.
func jsonAt(t *testing.T, v any, path ...any) string {
	t.Helper()
	for _, step := range path {
		switch step := step.(type) {
		case string:
			m, _ := v.(map[string]any)
			v = m[step]
		case int:
			l, _ := v.([]any)
			if step >= len(l) {
				return ""
			}
			v = l[step]
		}
	}
	if v == nil {
		return ""
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	testenv.Must(t, enc.Encode(v))
	return strings.TrimSpace(b.String())
}

func TestEvents(t *testing.T) {
	start := toJSON(t, Start(newRun(""), named))
	for _, tt := range []struct{ status, failure, kind string }{
		{"done", "", "COMPLETE"}, {"nothing", "", "COMPLETE"}, {"losses", "3 rows were lost", "COMPLETE"},
		{"input", "a.avro: damaged", "FAIL"}, {"defect", "oh", "FAIL"}, {"storage", "no node", "FAIL"}, {"interrupted", "SIGTERM", "ABORT"},
		{"committed", "a.avro: damaged after a commit", "FAIL"},
	} {
		run := newRun(tt.status)
		if tt.kind != "COMPLETE" && tt.status != "committed" {
			run.OutputID = ""
		}
		end := toJSON(t, End(run, named, tt.failure))
		for _, same := range [][]any{{"run", "runId"}, {"job"}, {"producer"}, {"schemaURL"}, {"inputs", 0, "name"}, {"outputs", 0, "name"}} {
			if jsonAt(t, start, same...) == "" || jsonAt(t, start, same...) != jsonAt(t, end, same...) {
				t.Errorf("%s: %v is %s at the start and %s at the end", tt.status, same, jsonAt(t, start, same...), jsonAt(t, end, same...))
			}
		}
		if jsonAt(t, end, "eventType") != `"`+tt.kind+`"` || (jsonAt(t, end, "run", "facets", "errorMessage", "message") == "") != (tt.failure == "") {
			t.Errorf("%s: %s", tt.status, jsonAt(t, end))
		}
		counted := jsonAt(t, end, "outputs", 0, "outputFacets", "outputStatistics", "rowCount")
		if (counted == "30") != (run.OutputID != "") {
			t.Errorf("%s: rowCount %s", tt.status, counted)
		}
	}
	for path, want := range map[string]string{
		"eventType": `"START"`, "eventTime": `"2026-11-22T02:10:00.005Z"`,
	} {
		if got := jsonAt(t, start, path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	if got := jsonAt(t, start, "job", "name"); got != `"convert hdfs://nn:8020/data/mail.columns"` {
		t.Errorf("got job %s", got)
	}
}

func TestComplete(t *testing.T) {
	end := toJSON(t, End(newRun("done"), named, ""))
	for want, path := range map[string][]any{
		`"2026-11-22T02:11:00.005Z"`: {"eventTime"},
		`"file"`:                     {"inputs", 0, "namespace"},
		`"/data/late.avro"`:          {"inputs", 1, "name"},
		`15`:                         {"inputs", 0, "inputFacets", "inputStatistics", "size"},
		`2`:                          {"inputs", 0, "inputFacets", "inputStatistics", "fileCount"},
		`1`:                          {"inputs", 1, "inputFacets", "inputStatistics", "size"},
		``:                           {"inputs", 2},
		`"hdfs://nn:8020"`:           {"outputs", 0, "namespace"},
		`"/data/mail.columns"`:       {"outputs", 0, "name"},
		`40`:                         {"outputs", 0, "outputFacets", "outputStatistics", "size"},
		`[{"name":"id","type":"long"},{"name":"date","type":"int (date)"},` +
			`{"fields":[{"name":"host","type":"string"}],"name":"from","type":"record"},` +
			`{"fields":[{"name":"_element","type":"record"}],"name":"to","type":"array"},` +
			`{"fields":[{"name":"key","type":"string"},{"name":"value","type":"bytes"}],"name":"tags","type":"map"},` +
			`{"fields":[{"name":"string","type":"string"},{"name":"t.Mail","type":"record"}],"name":"either","type":"union"}]`: {"outputs", 0, "facets", "schema", "fields"},
	} {
		if got := jsonAt(t, end, path...); got != want {
			t.Errorf("%v: got %s, want %s", path, got, want)
		}
	}
}

// TestEarlyEnd checks the event of a run that failed before its destination was known.
func TestEarlyEnd(t *testing.T) {
	run := newRun("usage")
	run.Dest, run.Schema, run.Inputs = "", "", nil
	end := toJSON(t, End(run, nil, strings.Repeat("é", maxMessage)))
	if jsonAt(t, end, "inputs") != "[]" || jsonAt(t, end, "outputs") != "[]" || jsonAt(t, end, "job", "name") != `"convert"` {
		t.Errorf("%s", jsonAt(t, end))
	}
	if message := jsonAt(t, end, "run", "facets", "errorMessage", "message"); len(message) > maxMessage+10 || strings.Contains(message, "\uFFFD") {
		t.Errorf("got a message of %d bytes", len(message))
	}
}

func TestDatasets(t *testing.T) {
	wd, err := os.Getwd()
	testenv.Must(t, err)
	var many []string
	for i := range 10_000 {
		many = append(many, filepath.Join("/data", string(rune('a'+i%26)), string(rune('a'+i/26%26)), string(rune('a'+i/676)), "x.avro"))
	}
	for _, tt := range []struct{ named, want []string }{
		{nil, nil},
		{[]string{"mail"}, []string{"file " + wd + "/mail"}},
		{[]string{"file:///data/mail/"}, []string{"file /data/mail"}},
		{[]string{"/data/2026-*/mail/*.avro"}, []string{"file /data"}},
		{[]string{"/*"}, []string{"file /"}},
		{[]string{"hdfs://nn:8020/data/{a,b}.avro", "hdfs://nn:8020/data"}, []string{"hdfs://nn:8020 /data"}},
		{[]string{"webhdfs://nn:9870"}, []string{"webhdfs://nn:9870 /"}},
		{many, func() (all []string) {
			for c := 'a'; c <= 'z'; c++ {
				all = append(all, "file /data/"+string(c))
			}
			return all
		}()},
	} {
		var got []string
		for _, d := range datasets(tt.named) {
			got = append(got, d.Namespace+" "+d.Name)
		}
		if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
			t.Errorf("%.3v: got %v, want %v", tt.named, got, tt.want)
		}
	}
	if got := Directories([]string{"/a/b/1", "/a/b/2", "hdfs://nn/c/3"}); strings.Join(got, " ") != "/a/b hdfs://nn/c" {
		t.Errorf("got directories %v", got)
	}
}

// TestManyFields checks that a schema with too many fields gives none, and that a record is
// expanded only at its first occurrence.
func TestManyFields(t *testing.T) {
	var wide, deep strings.Builder
	wide.WriteString(`{"type":"record","name":"W","fields":[{"name":"f","type":"int"}`)
	for i := range maxFields {
		wide.WriteString(`,{"name":"f` + strconv.Itoa(i) + `","type":"int"}`)
	}
	wide.WriteString(`]}`)
	if fields := fieldsOf(wide.String()); fields != nil {
		t.Errorf("got %d fields, want none", len(fields))
	}
	inner := `"int"`
	for i := range 40 {
		inner = `{"type":"record","name":"R` + strconv.Itoa(i) + `","fields":[{"name":"a","type":` + inner + `},{"name":"b","type":` + recordRef(i) + `}]}`
	}
	deep.WriteString(inner)
	if fields := fieldsOf(deep.String()); len(fields) != 2 {
		t.Errorf("got %d fields, want 2", len(fields))
	}
}

// recordRef returns the name of the record inside record i.
func recordRef(i int) string {
	if i == 0 {
		return `"int"`
	}
	return `"R` + strconv.Itoa(i-1) + `"`
}

// TestEndDetached checks that a detached run completes, and has no output yet.
func TestEndDetached(t *testing.T) {
	r := newRun("detached")
	r.OutputID = ""
	v := toJSON(t, End(r, named, ""))
	if jsonAt(t, v, "eventType") != `"COMPLETE"` || jsonAt(t, v, "outputs") != "[]" || jsonAt(t, v, "inputs", 0, "inputFacets") != "" {
		t.Errorf("%v", v)
	}
	if v := toJSON(t, End(newRun("detached"), named, "")); jsonAt(t, v, "outputs", 0, "outputFacets", "outputStatistics", "rowCount") != "30" {
		t.Errorf("the event lacks the output that was committed before: %v", v)
	}
}

// TestTable checks that the output of a run that changes a table is the table.
func TestTable(t *testing.T) {
	r := newRun("done")
	r.Command, r.Catalog, r.Table = "sync", "http://catalog:8181", "mail.messages"
	e := End(r, []string{"/data/mail.parquet"}, "")
	if len(e.Outputs) != 1 || e.Outputs[0].Namespace != r.Catalog || e.Outputs[0].Name != r.Table || e.Outputs[0].OutputFacets == nil {
		t.Errorf("outputs %+v", e.Outputs)
	}
	if len(e.Inputs) != 1 || e.Inputs[0].Name != "/data/mail.parquet" || e.Inputs[0].InputFacets != nil {
		t.Errorf("inputs %+v", e.Inputs)
	}
}
