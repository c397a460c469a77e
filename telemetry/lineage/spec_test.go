//go:build openlineage

package lineage

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestSpec validates events by OpenLineage's JSON schema of run events, and each facet
// by the schema that it names. ROWTOCOL_OPENLINEAGE is the folder spec of the repository
// OpenLineage/OpenLineage, which has the schemas:
//
//	ROWTOCOL_OPENLINEAGE=…/spec go test -tags openlineage ./telemetry/lineage
func TestSpec(t *testing.T) {
	dir := os.Getenv("ROWTOCOL_OPENLINEAGE")
	if dir == "" {
		t.Fatal("ROWTOCOL_OPENLINEAGE names no folder with OpenLineage's schemas")
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob(filepath.Join(dir, "facets", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no facets in %s: %v", dir, err)
	}
	for _, file := range append(files, filepath.Join(dir, "OpenLineage.json")) {
		f, err := os.Open(file)
		testenv.Must(t, err)
		doc, err := jsonschema.UnmarshalJSON(f)
		_ = f.Close() // only read
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		id, _ := doc.(map[string]any)["$id"].(string)
		if err := c.AddResource(id, doc); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	t.Setenv("OPENLINEAGE_PARENT_ID", "prod/nightly.convert/f99310b4-3c3c-4a1a-8b2b-c1b95c24ff11")
	early := newRun("usage")
	early.Dest = ""
	s := &specification{t, c}
	for _, e := range []*Event{
		Start(newRun(""), named), End(newRun("done"), named, ""), End(newRun("losses"), named, "lost"), End(early, nil, "no such flag"),
		End(newRun("interrupted"), named, "SIGTERM"),
	} {
		v := toJSON(t, e)
		s.check("https://openlineage.io/spec/2-0-2/OpenLineage.json", v)
		s.checkFacets(v)
	}
	broken := toJSON(t, Start(newRun(""), named))
	broken["run"].(map[string]any)["runId"] = "1"
	if s.find("https://openlineage.io/spec/2-0-2/OpenLineage.json").Validate(broken) == nil {
		t.Error("no error for a run ID that is not a UUID")
	}
}

type specification struct {
	t *testing.T
	c *jsonschema.Compiler
}

func (s *specification) find(url string) *jsonschema.Schema {
	s.t.Helper()
	schema, err := s.c.Compile(url)
	if err != nil {
		s.t.Fatal(err)
	}
	return schema
}

func (s *specification) check(url string, v any) {
	s.t.Helper()
	if err := s.find(url).Validate(v); err != nil {
		s.t.Errorf("%v", err)
	}
}

// checkFacets validates each facet in a value by the definition that it names.
func (s *specification) checkFacets(v any) {
	s.t.Helper()
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			s.checkFacets(item)
		}
	case map[string]any:
		if url, ok := v["_schemaURL"].(string); ok {
			s.check(url, v)
		}
		for _, value := range v {
			s.checkFacets(value)
		}
	}
}
