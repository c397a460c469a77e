package shred

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// The outcomes of a resolution under the rules without a requested schema, and with
// one.
const (
	both    = "allowed"               // without and with, and not reported
	asked   = "with --schema"         // not reported
	warned  = "with --schema, warned" // and Changes names it
	never   = "never"
	noRules = "not by Avro's rules"
)

// TestChangedMeaning lists what a resolution may do to the meaning of values: as rows, in a
// field, in items, and in a union of the writer, of the reader or of both.
func TestChangedMeaning(t *testing.T) {
	decimal := func(kind, digits string) string {
		return `{"type":"` + kind + `","logicalType":"decimal",` + digits + `}`
	}
	fixed := func(size, more string) string { return `{"type":"fixed","name":"F","size":` + size + more + `}` }
	prop := func(kind, properties string) string { return `{"type":"` + kind + `",` + properties + `}` }
	const p92, p102, p93 = `"precision":9,"scale":2`, `"precision":10,"scale":2`, `"precision":9,"scale":3`
	for _, tt := range []struct{ what, writer, reader, want string }{
		// Decimals.
		{"more precision", decimal("bytes", p92), decimal("bytes", p102), both},
		{"more precision, fixed", fixed("8", `,"logicalType":"decimal",`+p92), fixed("8", `,"logicalType":"decimal",`+p102), both},
		{"less precision", decimal("bytes", p102), decimal("bytes", p92), never},
		{"another scale", decimal("bytes", p92), decimal("bytes", p93), never},
		{"another scale and more precision", decimal("bytes", `"precision":9`), decimal("bytes", p102), never},
		{"decimal to string", decimal("bytes", p92), `"string"`, never},
		{"string to decimal", `"string"`, decimal("bytes", p92), never},
		{"uuid to decimal", typed("string", "uuid"), decimal("bytes", p92), never},
		{"decimal to bytes", decimal("bytes", p92), `"bytes"`, warned},
		{"bytes to decimal", `"bytes"`, decimal("bytes", p92), warned},
		{"decimal that does not fit its type", decimal("bytes", `"precision":1,"scale":2`), `"string"`, both},
		{"decimal to fixed", decimal("bytes", p92), fixed("8", `,"logicalType":"decimal",`+p92), noRules},
		// UUIDs.
		{"uuid to string", typed("string", "uuid"), `"string"`, both},
		{"string to uuid", `"string"`, typed("string", "uuid"), both},
		{"uuid to bytes", typed("string", "uuid"), `"bytes"`, warned},
		{"bytes to uuid", `"bytes"`, typed("string", "uuid"), warned},
		{"uuid to fixed", fixed("16", `,"logicalType":"uuid"`), fixed("16", ``), warned},
		{"uuid to string of fixed", fixed("16", `,"logicalType":"uuid"`), `"string"`, noRules},
		// Annotations that are added and dropped.
		{"timestamp to long", typed("long", "timestamp-millis"), `"long"`, warned},
		{"long to timestamp", `"long"`, typed("long", "timestamp-millis"), warned},
		{"date to int", typed("int", "date"), `"int"`, warned},
		{"date to long", typed("int", "date"), `"long"`, warned},
		{"int to timestamp", `"int"`, typed("long", "timestamp-millis"), warned},
		{"timestamp to double", typed("long", "timestamp-millis"), `"double"`, warned},
		{"duration to fixed", fixed("12", `,"logicalType":"duration"`), fixed("12", ""), warned},
		{"unknown to none", typed("long", "era"), `"int"`, noRules},
		{"unknown to wider", typed("int", "era"), `"long"`, both},
		{"promotion", `"int"`, `"long"`, both},
		// Units of one kind.
		{"timestamps, millis to micros", typed("long", "timestamp-millis"), typed("long", "timestamp-micros"), asked},
		{"timestamps, millis to nanos", typed("long", "timestamp-millis"), typed("long", "timestamp-nanos"), asked},
		{"timestamps, micros to nanos", typed("long", "timestamp-micros"), typed("long", "timestamp-nanos"), asked},
		{"local, millis to micros", typed("long", "local-timestamp-millis"), typed("long", "local-timestamp-micros"), asked},
		{"local, micros to nanos", typed("long", "local-timestamp-micros"), typed("long", "local-timestamp-nanos"), asked},
		{"times, millis to micros", typed("int", "time-millis"), typed("long", "time-micros"), asked},
		{"times, micros to millis", typed("long", "time-micros"), typed("int", "time-millis"), noRules},
		{"timestamps, micros to millis", typed("long", "timestamp-micros"), typed("long", "timestamp-millis"), never},
		{"timestamps, nanos to millis", typed("long", "timestamp-nanos"), typed("long", "timestamp-millis"), never},
		{"timestamps, nanos to micros", typed("long", "timestamp-nanos"), typed("long", "timestamp-micros"), never},
		{"local, nanos to micros", typed("long", "local-timestamp-nanos"), typed("long", "local-timestamp-micros"), never},
		// Kinds of time.
		{"date to timestamp", typed("int", "date"), typed("long", "timestamp-millis"), never},
		{"date to local", typed("int", "date"), typed("long", "local-timestamp-micros"), never},
		{"date to time", typed("int", "date"), typed("int", "time-millis"), never},
		{"timestamp to date", typed("long", "timestamp-millis"), typed("int", "date"), noRules},
		{"time to date", typed("int", "time-millis"), typed("int", "date"), never},
		{"time to timestamp", typed("int", "time-millis"), typed("long", "timestamp-millis"), never},
		{"UTC to local", typed("long", "timestamp-millis"), typed("long", "local-timestamp-millis"), never},
		{"local to UTC", typed("long", "local-timestamp-millis"), typed("long", "timestamp-millis"), never},
		{"local to UTC of a finer unit", typed("long", "local-timestamp-millis"), typed("long", "timestamp-micros"), never},
		// Properties.
		{"connect.name", prop("long", `"connect.name":"a"`), prop("long", `"connect.name":"b"`), never},
		{"connect.name dropped", prop("long", `"connect.name":"a"`), `"long"`, warned},
		{"connect.name added", `"int"`, prop("long", `"connect.name":"a"`), warned},
		{"connect.parameters", prop("long", `"connect.parameters":{"a":"b"}`), prop("long", `"connect.parameters":{"a":"c"}`), never},
		{"adjust-to-utc", prop("long", `"logicalType":"timestamp-micros","adjust-to-utc":true`), prop("long", `"logicalType":"timestamp-micros","adjust-to-utc":false`), never},
		{"connect.name of a record", `{"type":"record","name":"I","fields":[],"connect.name":"a"}`, `{"type":"record","name":"I","fields":[],"connect.name":"b"}`, never},
		{"connect.name of an array", `{"type":"array","items":"int","connect.name":"a"}`, `{"type":"array","items":"int"}`, warned},
		{"another property", prop("int", `"x":1`), prop("long", `"x":2`), both},
		// Names.
		{"a record's alias", `{"type":"record","name":"A","fields":[]}`, `{"type":"record","name":"B","aliases":["A"],"fields":[]}`, asked},
		{"an enum's alias", enumAB, strings.Replace(enumAB, `"E"`, `"G","aliases":["E"]`, 1), asked},
		{"a fixed's alias", fixed2, strings.Replace(fixed2, `"F"`, `"G","aliases":["F"]`, 1), asked},
		{"another namespace", `{"type":"record","name":"a.A","fields":[]}`, `{"type":"record","name":"b.A","fields":[]}`, both},
		{"a field's alias", rec("I", field("a", `"long"`)), rec("I", aliased("b", `"long"`, "a")), asked},
		{"connect.name of a field", rec("I", `{"name":"a","type":"long","connect.name":"x"}`), rec("I", `{"name":"a","type":"long","connect.name":"y"}`), never},
		{"connect.name of a field dropped", rec("I", `{"name":"a","type":"long","connect.name":"x"}`), rec("I", field("a", `"long"`)), warned},
		{"inside", rec("I", field("a", array(typed("long", "timestamp-millis")))), rec("I", field("a", array(`"long"`))), warned},
	} {
		t.Run(tt.what, func(t *testing.T) {
			checkMeaning(t, tt.writer, tt.reader, tt.want)
			checkMeaning(t, rec("R", field("f", tt.writer)), rec("R", field("f", tt.reader)), tt.want)
			checkMeaning(t, array(tt.writer), array(tt.reader), tt.want)
			checkMeaning(t, mapOf(tt.writer), mapOf(tt.reader), tt.want)
			if tt.want == noRules {
				return // in a union, they are errors of rows
			}
			checkMeaning(t, `["null",`+tt.writer+`]`, `["null",`+tt.reader+`]`, tt.want)
			checkMeaning(t, tt.writer, `["null",`+tt.reader+`]`, tt.want)
			checkMeaning(t, `["boolean",`+tt.writer+`]`, `["boolean",`+tt.reader+`]`, tt.want)
		})
	}
}

// checkMeaning resolves by both rules and compares the outcomes.
func checkMeaning(t *testing.T, writer, reader, want string) {
	t.Helper()
	w, r := parse(t, writer), parse(t, reader)
	kept, errKept := Resolve(w, r, KeepMeaning)
	allowed, errAllowed := Resolve(w, r, AllowChanges)
	for _, err := range []error{errKept, errAllowed} {
		if d := (*damage.Error)(nil); err != nil && (!errors.As(err, &d) || d.Kind != damage.Schema || errors.Is(err, ErrMeaning) != (want != noRules)) {
			t.Errorf("%s -> %s: %v", writer, reader, err)
		}
	}
	if mayKeep := want == both; (errKept == nil) != mayKeep {
		t.Errorf("%s -> %s: %v without a requested schema", writer, reader, errKept)
	}
	if may := want == both || want == asked || want == warned; (errAllowed == nil) != may {
		t.Errorf("%s -> %s: %v with a requested schema", writer, reader, errAllowed)
	}
	if errKept == nil && len(kept.Changes()) > 0 {
		t.Errorf("%s -> %s: %q without a requested schema", writer, reader, kept.Changes())
	}
	if errAllowed == nil && (len(allowed.Changes()) > 0) != (want == warned) {
		t.Errorf("%s -> %s: changes are %q", writer, reader, allowed.Changes())
	}
}

// TestRefusedMeaning checks that errors name the path and both types.
func TestRefusedMeaning(t *testing.T) {
	w := rec("R", field("a", rec("S", field("b", array(`["null",`+typed("long", "timestamp-millis")+`]`)))))
	for _, tt := range []struct {
		reader string
		rules  Rules
		want   string
	}{
		{strings.Replace(w, "timestamp", "local-timestamp", 1), AllowChanges,
			"field a.b[]: schema: the writer's long (timestamp-millis) does not resolve to the reader's long (local-timestamp-millis): the meaning of values would change"},
		{strings.Replace(w, "timestamp-millis", "x", 1), KeepMeaning,
			"field a.b[]: schema: the writer's long (timestamp-millis) does not resolve to the reader's long without --schema: the meaning of values would change"},
		{strings.Replace(w, `"b"`, `"c","aliases":["b"]`, 1), KeepMeaning, `field a.c: schema: the writer's array does not resolve to the reader's array: an alias renames the field "b", which takes --schema`},
	} {
		_, err := Resolve(parse(t, w), parse(t, tt.reader), tt.rules)
		wantDamage(t, err, damage.Schema, tt.want)
	}
	_, err := Resolve(parse(t, `{"type":"bytes","logicalType":"decimal","precision":9,"scale":2,"connect.name":"x"}`),
		parse(t, `{"type":"bytes","logicalType":"decimal","precision":9,"scale":3}`), AllowChanges)
	wantDamage(t, err, damage.Schema, `the writer's bytes (decimal(9,2), {"connect.name":"x"}) does not resolve to the reader's bytes (decimal(9,3))`)
}

// TestLeftOut lists the writer's fields that the reader lacks, once in recursive types.
func TestLeftOut(t *testing.T) {
	s := rec("S", field("x", `"int"`)+","+field("y", `"int"`)+","+field("next", `["null","S"]`))
	w := rec("R", field("a", array(`["null",`+s+`]`))+","+field("b", mapOf("\"S\""))+","+field("c", `"string"`))
	r := strings.Replace(strings.Replace(w, field("y", `"int"`)+",", "", 1), ","+field("c", `"string"`), "", 1)
	for _, rules := range []Rules{KeepMeaning, AllowChanges} {
		by, err := Resolve(parse(t, w), parse(t, r), rules)
		if err != nil || !slices.Equal(by.LeftOut(), []string{"a[].y", "c"}) || len(by.Changes()) > 0 {
			t.Errorf("%q, %v", by.LeftOut(), err)
		}
	}
	// A branch that does not resolve leaves out no field: its rows are refused.
	two := func(name, kind string) string { return rec(name, field("x", kind)+","+field("y", `"int"`)) }
	if by := resolution(t, "["+two("a.S", `"string"`)+","+two("b.S", `"int"`)+"]", two("c.S", `"int"`)); len(by.LeftOut()) > 0 {
		t.Errorf("%q", by.LeftOut())
	}
	by := resolution(t, w, strings.Replace(r, field("x", `"int"`), field("x", `["null",{"type":"int","logicalType":"date"}]`), 1))
	if len(by.Changes()) != 1 || by.Changes()[0] != "field a[].x: the writer's int is read as the reader's int (date)" {
		t.Errorf("%q", by.Changes())
	}
}

func TestInexactText(t *testing.T) {
	for want, n := range map[string]Inexact{
		"1 enum symbol became the schema's default":                          {EnumDefaults: 1},
		"1 number was rounded":                                               {Rounded: 1},
		"2 enum symbols became the schema's default, 3 numbers were rounded": {EnumDefaults: 2, Rounded: 3},
		"1 string was not UTF-8 and got U+FFFD":                              {Strings: 1},
		"4 numbers were rounded, 2 strings were not UTF-8 and got U+FFFD":    {Rounded: 4, Strings: 2},
	} {
		if n.String() != want {
			t.Errorf("%q, want %q", n, want)
		}
	}
}

// TestInexact has values that change: they are counted or rejected.
func TestInexact(t *testing.T) {
	long := func(n int64) string { return string(binary.AppendVarint(nil, n)) }
	for _, tt := range []struct {
		what, writer, reader, datum string
		want                        Inexact
	}{
		{"2^53", `"long"`, `"double"`, long(1 << 53), Inexact{}},
		{"2^53+1", `"long"`, `"double"`, long(1<<53 + 1), Inexact{Rounded: 1}},
		{"-2^53-1", `"long"`, `"double"`, long(-1<<53 - 1), Inexact{Rounded: 1}},
		{"2^60", `"long"`, `"double"`, long(1 << 60), Inexact{}},
		{"the largest", `"long"`, `"double"`, long(math.MaxInt64), Inexact{Rounded: 1}},
		{"the least", `"long"`, `"double"`, long(math.MinInt64), Inexact{}},
		{"2^24", `"int"`, `"float"`, long(1 << 24), Inexact{}},
		{"2^24+1", `"int"`, `"float"`, long(1<<24 + 1), Inexact{Rounded: 1}},
		{"2^24+1 of longs", `"long"`, `"float"`, long(1<<24 + 1), Inexact{Rounded: 1}},
		{"the largest as a float", `"long"`, `"float"`, long(math.MaxInt64), Inexact{Rounded: 1}},
		{"an int as a double", `"int"`, `"double"`, long(math.MaxInt32), Inexact{}},
		{"a float as a double", `"float"`, `"double"`, "\x01\x00\xa0\x7f", Inexact{}},
		{"a symbol", enumAB, enumB, "\x02", Inexact{}},
		{"a symbol for the default", enumAB, enumB, "\x00", Inexact{EnumDefaults: 1}},
		{"two of three", array(enumAB), array(enumB), "\x06\x00\x02\x00\x00", Inexact{EnumDefaults: 2}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			r := resolver(t, tt.writer, tt.reader)
			for range 2 {
				if _, _, err := r.Row(nil, []byte(tt.datum)); err != nil {
					t.Fatal(err)
				}
			}
			if got := r.TakeInexact(); got != tt.want.Plus(tt.want) || r.TakeInexact() != (Inexact{}) {
				t.Errorf("%+v", got)
			}
			by, err := Resolve(parse(t, tt.writer), parse(t, tt.reader), KeepMeaning)
			testenv.Must(t, err)
			r = NewResolver(by, 1<<20)
			_, _, err = r.Row(nil, []byte(tt.datum))
			if tt.want == (Inexact{}) {
				if err != nil || r.TakeInexact() != (Inexact{}) {
					t.Error(err)
				}
				return
			}
			wantDamage(t, err, damage.Value, "only --schema allows")
		})
	}
	// A row that is tried again for lack of room counts once.
	r := resolver(t, array(`"long"`), array(`"double"`))
	datum := []byte("\x14" + strings.Repeat(long(math.MaxInt64), 10) + "\x00")
	r.Limit(resolverSlack + 40)
	if _, _, err := r.Row(nil, datum); !errors.Is(err, ErrRoom) {
		t.Fatal(err)
	}
	r.Limit(1 << 10)
	if _, _, err := r.Row(nil, datum); err != nil || r.TakeInexact() != (Inexact{Rounded: 10}) {
		t.Error(err)
	}
}

// TestUnitsOverflow has times that overflow in the finer unit.
func TestUnitsOverflow(t *testing.T) {
	r := resolver(t, rec("R", field("t", typed("long", "timestamp-millis"))), rec("R", field("t", typed("long", "timestamp-nanos"))))
	const most = math.MaxInt64 / 1_000_000
	for _, n := range []int64{most, -most, 0, -1} {
		out, _, err := r.Row(nil, binary.AppendVarint(nil, n))
		if got, _ := binary.Varint(out); err != nil || got != n*1e6 {
			t.Errorf("%d: %d, %v", n, got, err)
		}
	}
	for _, n := range []int64{most + 1, -most - 1, math.MaxInt64, math.MinInt64} {
		_, _, err := r.Row(nil, binary.AppendVarint(nil, n))
		wantDamage(t, err, damage.Value, "field t: offset 0: value: the timestamp-millis")
	}
}
