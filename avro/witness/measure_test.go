package witness

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestMeasure has rows that must be rejected before hamba decodes them.
func TestMeasure(t *testing.T) {
	long := func(values ...int64) (b []byte) {
		for _, v := range values {
			b = binary.AppendVarint(b, v)
		}
		return b
	}
	list := `{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}`
	nulls := func(doublings int) string {
		s := `"null"`
		for i := range doublings {
			s = fmt.Sprintf(`{"type":"record","name":"N%d","fields":[{"name":"a","type":%s},{"name":"b","type":"%s"}]}`, i, s, []string{"null", fmt.Sprintf("N%d", i-1)}[min(i, 1)])
		}
		return s
	}
	array := func(items string) string { return `{"type":"array","items":` + items + `}` }
	for _, test := range []struct {
		name, schema string
		row          []byte
		err          error
	}{
		{"string beyond the end", `"string"`, long(math.MaxInt64), errShort},
		{"string of negative length", `"bytes"`, long(-1), errInvalid},
		{"int of 33 bits", `"int"`, long(math.MaxInt32 + 1), errInvalid},
		{"varint without end", `"long"`, []byte(strings.Repeat("\xff", 11)), errInvalid},
		{"branch after the last", `["null","int"]`, long(2), errInvalid},
		{"branch before the first", `["null","int"]`, long(-1), errInvalid},
		{"symbol after the last", `{"type":"enum","name":"E","symbols":["a"]}`, long(1), errInvalid},
		{"fixed beyond the end", `{"type":"fixed","name":"F","size":16777216}`, []byte{1}, errShort},
		{"array of too many items", array(`"int"`), long(math.MaxInt64), errMany},
		{"array of the least count", array(`"int"`), long(math.MinInt64, 0), errMany},
		{"array of many nulls", array(`"null"`), long(maxEmpty*2, 0), errMany},
		{"many arrays of many nulls", array(array(`"null"`)), long(9, maxEmpty/4, 0, maxEmpty/4, 0, maxEmpty/4, 0, maxEmpty/4, 0, maxEmpty/4, 0), errMany},
		{"map of too many entries", `{"type":"map","values":"int"}`, long(1 << 62), errMany},
		{"block of a wrong size", array(`"int"`), long(-1, 2, 0, 0), errInvalid},
		{"block beyond the end", array(`"int"`), long(-1, math.MaxInt64, 0, 0), errShort},
		{"block of negative size", array(`"int"`), long(-1, -1, 0, 0), errShort},
		{"nested too deeply", list, []byte(strings.Repeat("\x02", 2*maxDepth)), errDeep},
		{"nulls in many fields", nulls(20), nil, errMany},
		{"nulls in very many fields", nulls(60), nil, errMany},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, err := newHamba(test.schema)
			testenv.Must(t, err)
			if v, rest, err := h.input(test.row); !errors.Is(err, test.err) || rest != nil {
				t.Errorf("%v, %v, %v", v, rest, err)
			}
		})
	}
}

func TestHugeFixed(t *testing.T) {
	for _, size := range []string{"2147483647", "9223372036854775808", "1e9"} {
		if _, err := newHamba(`{"type":"array","items":{"type":"fixed","name":"F","size":` + size + `}}`); err == nil {
			t.Errorf("hamba allocates a type of %s bytes", size)
		}
	}
}

// TestDeepRow has the deepest values of a recursive type that are accepted.
func TestDeepRow(t *testing.T) {
	h, err := newHamba(`{"type":"record","name":"R","fields":[{"name":"next","type":["null","R"]}]}`)
	testenv.Must(t, err)
	row := append([]byte(strings.Repeat("\x02", maxDepth/4)), 0, 7)
	v, rest, err := h.input(row)
	if err != nil || len(rest) != 1 {
		t.Fatalf("%d bytes left, %v", len(rest), err)
	}
	if again, _, err := h.columns(row[:len(row)-1]); err != nil {
		t.Error(err)
	} else if _, _, _, same := differ("", v, again); !same {
		t.Error("a row differs from itself")
	}
}

// FuzzHamba decodes any bytes as rows of any schema, and any pair of schemas.
func FuzzHamba(f *testing.F) {
	f.Add(mailSchema, mailSchema, []byte{2, 0, 0, 0})
	f.Add(`{"type":"map","values":["null",{"type":"array","items":"bytes"}]}`, `"null"`, []byte{2, 2, 'a', 2, 2, 2, 'b', 0, 0})
	f.Add(`{"type":"record","name":"R","fields":[{"name":"a","type":["null","R","int"]}]}`, `["null","R"]`, []byte{2, 4, 2})
	f.Add(`{"type":"record","name":"R","fields":[{"name":"a","type":"int"}]}`,
		`{"type":"record","name":"R","fields":[{"name":"b","type":["long","string"],"aliases":["a"]},{"name":"c","type":{"type":"map","values":"bytes"},"default":{"k":"\u00ff"}}]}`, []byte{2})
	f.Fuzz(func(t *testing.T, writer, reader string, row []byte) {
		for _, reader := range []string{"", reader} {
			c, err := newCodecs(writer, reader, true)
			if err != nil {
				continue
			}
			hamba, err := c.hamba()
			if err != nil {
				continue
			}
			v, rest, err := hamba.input(row)
			if len(rest) > len(row) {
				t.Errorf("%d bytes left of %d", len(rest), len(row))
			}
			if err != nil || reader != "" {
				continue
			}
			again, _, err := hamba.columns(row[:len(row)-len(rest)])
			testenv.Must(t, err)
			if path, _, _, same := differ("", v, again); !same {
				t.Errorf("%s differs from itself", path)
			}
		}
	})
}
