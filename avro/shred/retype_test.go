package shred

import (
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestRetype(t *testing.T) {
	const clock, stamp = `{"type":"int","logicalType":"time-millis"}`, `{"type":"long","logicalType":"timestamp-millis","x":1}`
	to := map[column.Logical]column.Logical{
		column.LogicalTimeMillis: column.LogicalTimeMicros, column.LogicalTimestampMillis: column.LogicalTimestampMicros,
		column.LogicalTimeMicros: column.LogicalNone,
	}
	retyped := func(l column.Logical) column.Logical {
		if to, ok := to[l]; ok {
			return to
		}
		return l
	}
	const newClock, newStamp = `{"logicalType":"time-micros","type":"long"}`, `{"logicalType":"timestamp-micros","type":"long","x":1}`
	record := func(fields string) string { return `{"fields":[` + fields + `],"name":"R","type":"record"}` }
	for _, c := range []struct {
		schema, want string
		two          bool
	}{
		{stamp, newStamp, false},
		{`{"type":"long","logicalType":"time-micros"}`, `{"type":"long"}`, false},
		{`{"type":"int","logicalType":"timestamp-millis"}`, `{"logicalType":"timestamp-millis","type":"int"}`, false},
		{`"long"`, `"long"`, false},
		{`{"type":"array","items":` + clock + `}`, `{"items":` + newClock + `,"type":"array"}`, false},
		{`{"type":"map","values":["null",` + clock + `]}`, `{"type":"map","values":["null",` + newClock + `]}`, false},
		{`[` + clock + `,"string"]`, `[` + newClock + `,"string"]`, false},
		{`[` + clock + `,"long"]`, `[` + newClock + `,"long"]`, true},
		{
			record(`{"name":"a","type":` + stamp + `,"default":5},{"name":"b","type":["null",{"type":` + stamp + `}],"default":null},{"name":"c","type":"int","default":5}`),
			record(`{"name":"a","type":` + newStamp + `},{"default":null,"name":"b","type":["null",` + newStamp + `]},{"default":5,"name":"c","type":"int"}`), false,
		},
		{
			record(`{"name":"a","type":{"type":"record","name":"I","fields":[{"name":"t","type":` + clock + `}]}},{"name":"b","type":"I"}`),
			record(`{"name":"a","type":{"fields":[{"name":"t","type":` + newClock + `}],"name":"I","type":"record"}},{"name":"b","type":"I"}`), false,
		},
	} {
		s, err := ParseSchema(c.schema)
		testenv.Must(t, err)
		got, ok, err := s.Retype(retyped)
		testenv.Must(t, err)
		if got != c.want || ok == c.two {
			t.Errorf("%s:\nbecomes %s, %v\nwant    %s, %v", c.schema, got, ok, c.want, !c.two)
		}
		if s.JSON() != c.schema {
			t.Errorf("%s has changed", c.schema)
		}
	}
}
