package shred

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

var errNoMemory = errors.New("no memory")

// gauge records how much memory was requested, and has a limit.
type gauge struct{ bytes, limit int64 }

func (a *gauge) Check(n int64) error {
	if a.bytes = n; n > a.limit {
		return errNoMemory
	}
	return nil
}

// doubling returns a schema of some levels, each with twice as many columns as the one
// before.
func doubling(levels int, name string, wrap string) string {
	s := `"int"`
	for i := range levels {
		again := `"int"`
		if i > 0 {
			again = fmt.Sprintf(`"R%d"`, i-1)
		}
		s = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a%s","type":`+wrap+`},{"name":"b%s","type":%s}]}`, i, name, s, name, again)
	}
	return s
}

// Map checks memory before it expands a schema of a few bytes, for roughly as much as the
// mapping takes.
func TestExpansionChecksMemory(t *testing.T) {
	const levels = 15
	for _, c := range []struct{ what, schema string }{
		{"records", doubling(levels, "", "%s")},
		{"long names", doubling(levels, strings.Repeat("n", 40), "%s")},
		{"arrays", doubling(levels-1, "", `{"type":"array","items":%s}`)},
		{"maps", doubling(levels-1, "", `{"type":"map","values":%s}`)},
		{"unions", doubling(levels-1, "", `["null",%s]`)},
		{"records without fields", strings.Replace(doubling(levels-1, "", "%s"), `{"name":"a","type":"int"}`,
			`{"name":"a","type":"int"},{"name":"e","type":{"type":"record","name":"E","fields":[]}},{"name":"f","type":"E"},{"name":"g","type":"E"}`, 1)},
	} {
		t.Run(c.what, func(t *testing.T) {
			s, err := ParseSchema(c.schema)
			testenv.Must(t, err)
			memory := &gauge{}
			if _, err := Map(s, Options{Memory: memory}); !errors.Is(err, errNoMemory) {
				t.Fatalf("%d bytes: %v", memory.bytes, err)
			}
			before := heap()
			m, err := Map(s, Options{Memory: &gauge{limit: memory.bytes}})
			testenv.Must(t, err)
			took := heap() - before
			runtime.KeepAlive(m)
			if took > memory.bytes || took < memory.bytes/5 {
				t.Errorf("%d columns take %d bytes, but %d were checked", len(m.Columns), took, memory.bytes)
			}
		})
	}
}

// heap returns the bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
