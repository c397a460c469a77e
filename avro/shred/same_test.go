package shred

import (
	"strings"
	"testing"
)

func TestSame(t *testing.T) {
	const a = `{"type":"record","name":"R","namespace":"x","aliases":["Old"],"doc":"d","fields":[
		{"name":"e","type":{"type":"enum","name":"E","symbols":["A"]}},
		{"name":"again","type":{"type":"E"}},
		{"name":"list","type":{"type":"array","items":["null","E",{"type":"fixed","name":"F","namespace":"","size":2}]}},
		{"name":"map","type":{"type":"map","values":"F"}},
		{"name":"self","type":["null","R"]}]}`
	for name, tt := range map[string]struct {
		b    string
		same bool
	}{
		"full names": {`{"type":"record","name":"x.R","aliases":["x.Old"],"fields":[
			{"name":"e","type":{"type":"enum","name":"x.E","namespace":"y","symbols":["A"]}},
			{"name":"again","type":{"type":"x.E"}},
			{"name":"list","type":{"type":"array","items":["null","x.E",{"type":"fixed","namespace":"","name":"F","size":2}]}},
			{"name":"map","type":{"type":"map","values":"F"}},
			{"name":"self","type":["null","x.R"]}]}`, true},
		"another namespace": {`{"type":"record","name":"R","namespace":"y","aliases":["x.Old"],"fields":[
			{"name":"e","type":{"type":"enum","name":"x.E","symbols":["A"]}},
			{"name":"again","type":{"type":"x.E"}},
			{"name":"list","type":{"type":"array","items":["null","x.E",{"type":"fixed","namespace":"","name":"F","size":2}]}},
			{"name":"map","type":{"type":"map","values":"F"}},
			{"name":"self","type":["null","R"]}]}`, false},
	} {
		first, err := ParseSchema(a)
		if err != nil {
			t.Fatal(name, err)
		}
		other, err := ParseSchema(tt.b)
		if err != nil {
			t.Fatal(name, err)
		}
		if first.Same(other) != tt.same {
			t.Errorf("%s: same %v\n%s\n%s", name, !tt.same, first.Identity(), other.Identity())
		}
	}
}

// TestSameSchema lists which changes leave a schema the same, and which differences of
// such schemas are reported.
func TestSameSchema(t *testing.T) {
	row := func(attributes, field string) string {
		return `{"type":"record","name":"R","namespace":"n"` + attributes + `,"fields":[{"name":"f"` + field + `},{"name":"g","type":"string"}]}`
	}
	long := row("", `,"type":"long"`)
	prop := func(kind, properties string) string { return row("", `,"type":{"type":"`+kind+`",`+properties+`}`) }
	enum := func(more string) string { return `,"type":{"type":"enum","name":"E","symbols":["A","B"]` + more + `}` }
	for _, tt := range []struct {
		what, a, b  string
		same        bool
		differences string // the reported differences
	}{
		// Names, types, orders, symbols, sizes.
		{"the same text", long, long, true, ""},
		{"white space", long, strings.ReplaceAll(long, ":", " : "), true, ""},
		{"full name", long, strings.Replace(long, `"name":"R","namespace":"n"`, `"name":"n.R"`, 1), true, ""},
		{"another full name", long, strings.Replace(long, `"namespace":"n"`, `"namespace":"m"`, 1), false, ""},
		{"a type in an object", long, prop("long", `"x":1`), true, `field "f": "x"`},
		{"another type", long, row("", `,"type":"int"`), false, ""},
		{"another field name", long, strings.Replace(long, `"g"`, `"h"`, 1), false, ""},
		{"another order of fields", long, `{"type":"record","name":"n.R","fields":[{"name":"g","type":"string"},{"name":"f","type":"long"}]}`, false, ""},
		{"another order of a union", row("", `,"type":["null","long"]`), row("", `,"type":["long","null"]`), false, ""},
		{"another symbol", row("", enum("")), strings.Replace(row("", enum("")), `"B"`, `"C"`, 1), false, ""},
		{"symbols in another order", row("", enum("")), strings.Replace(row("", enum("")), `"A","B"`, `"B","A"`, 1), false, ""},
		{"another size", row("", `,"type":`+fixed2), row("", `,"type":`+strings.Replace(fixed2, "2", "3", 1)), false, ""},
		{"array and map", row("", `,"type":`+array(`"long"`)), row("", `,"type":`+mapOf(`"long"`)), false, ""},
		{"error and record", long, strings.Replace(long, "record", "error", 1), true, ""},
		// Logical types.
		{"a logical type", long, prop("long", `"logicalType":"timestamp-millis"`), false, ""},
		{"another logical type", prop("long", `"logicalType":"timestamp-millis"`), prop("long", `"logicalType":"timestamp-micros"`), false, ""},
		{"local and UTC", prop("long", `"logicalType":"timestamp-millis"`), prop("long", `"logicalType":"local-timestamp-millis"`), false, ""},
		{"another scale", prop("bytes", `"logicalType":"decimal","precision":9,"scale":2`), prop("bytes", `"logicalType":"decimal","precision":9,"scale":3`), false, ""},
		{"another precision", prop("bytes", `"logicalType":"decimal","precision":9`), prop("bytes", `"logicalType":"decimal","precision":8`), false, ""},
		{"a scale of 0", prop("bytes", `"logicalType":"decimal","precision":9`), prop("bytes", `"logicalType":"decimal","precision":9,"scale":0`), true, ""},
		{"uuid", prop("string", `"logicalType":"uuid"`), prop("string", `"x":1`), false, ""},
		{"unknown logical types", prop("long", `"logicalType":"era"`), prop("long", `"logicalType":"age"`), true, `field "f": "logicalType"`},
		{"a logical type that does not fit", prop("int", `"logicalType":"timestamp-millis"`), row("", `,"type":"int"`), true, `field "f": "logicalType"`},
		{"a logical type of a field", long, row("", `,"type":"long","logicalType":"timestamp-millis"`), true, `field "f": "logicalType"`},
		// Ignored properties.
		{"doc of a type", long, row(`,"doc":"d"`, `,"type":"long"`), true, ""},
		{"doc of a field", long, row("", `,"type":"long","doc":"d"`), true, ""},
		{"order", long, row("", `,"type":"long","order":"descending"`), true, ""},
		{"avro.java.string", long, strings.Replace(long, `"string"`, `{"type":"string","avro.java.string":"String"}`, 1), true, ""},
		{"java-class", long, prop("long", `"java-class":"java.util.Date"`), true, ""},
		{"java-key-class", long, prop("long", `"java-key-class":"x"`), true, ""},
		{"connect.version", long, prop("long", `"connect.version":1`), true, ""},
		{"connect.doc", long, prop("long", `"connect.doc":"d"`), true, ""},
		// Changes of the meaning.
		{"connect.name", prop("long", `"connect.name":"io.debezium.time.Timestamp"`), prop("long", `"connect.name":"io.debezium.time.MicroTimestamp"`), false, ""},
		{"a connect.name", prop("long", `"connect.name":"io.debezium.time.Timestamp"`), long, false, ""},
		{"connect.name of a record", row(`,"connect.name":"a"`, `,"type":"long"`), row(`,"connect.name":"b"`, `,"type":"long"`), false, ""},
		{"connect.name of a field", row("", `,"type":"long","connect.name":"a"`), row("", `,"type":"long","connect.name":"b"`), false, ""},
		{"connect.parameters", prop("long", `"connect.parameters":{"a":"1"}`), prop("long", `"connect.parameters":{"a":"2"}`), false, ""},
		{"order of connect.parameters", prop("long", `"connect.parameters":{"a":"1","b":"2"}`), prop("long", `"connect.parameters":{"b":"2","a":"1"}`), true, ""},
		{"adjust-to-utc", prop("long", `"logicalType":"timestamp-micros","adjust-to-utc":true`), prop("long", `"logicalType":"timestamp-micros","adjust-to-utc":false`), false, ""},
		{"adjust-to-utc-…", prop("long", `"adjust-to-utc-x":true`), prop("long", `"adjust-to-utc-x":false`), false, ""},
		// Changes with a warning.
		{"another property", long, prop("long", `"connect.default":0`), true, `field "f": "connect.default"`},
		{"a property of the record", long, row(`,"x":1`, `,"type":"long"`), true, `type "n.R": "x"`},
		{"a property of a field", row("", `,"type":"long","field-id":1`), row("", `,"type":"long","field-id":2`), true, `field "f": "field-id"`},
		{"a default", long, row("", `,"type":"long","default":0`), true, `field "f": its default`},
		{"another default", row("", `,"type":"long","default":1`), row("", `,"type":"long","default":0`), true, `field "f": its default`},
		{"a default of null", row("", `,"type":["null","long"]`), row("", `,"type":["null","long"],"default":null`), true, `field "f": its default`},
		{"the default of an enum", row("", enum("")), row("", enum(`,"default":"B"`)), true, `field "f": the default of its enum`},
		{"aliases of a type", long, row(`,"aliases":["Q"]`, `,"type":"long"`), true, `type "n.R": the aliases of its type`},
		{"aliases of a field", long, row("", `,"type":"long","aliases":["e"]`), true, `field "f": its aliases`},
		{"full and simple aliases", row(`,"aliases":["Q"]`, `,"type":"long"`), row(`,"aliases":["n.Q"]`, `,"type":"long"`), true, ""},
		{"inside", row("", `,"type":`+array(mapOf(`["null",{"type":"long","x":1}]`))), row("", `,"type":`+array(mapOf(`["null","long"]`))), true, `field "f[]{}": "x"`},
	} {
		t.Run(tt.what, func(t *testing.T) {
			a, b := parse(t, tt.a), parse(t, tt.b)
			if a.Same(b) != tt.same || b.Same(a) != tt.same {
				t.Fatalf("got same %v\n%s\n%s", !tt.same, a.Identity(), b.Identity())
			}
			if !tt.same {
				return
			}
			if differences := strings.Join(a.Differences(b), "; "); differences != tt.differences {
				t.Errorf("got differences %q, want %q", differences, tt.differences)
			}
			for _, rules := range []Rules{KeepMeaning, AllowChanges} {
				by, err := Resolve(a, b, rules)
				if err != nil || !by.Identity() || len(by.LeftOut())+len(by.Changes()) > 0 || len(by.Differences()) != len(a.Differences(b)) {
					t.Errorf("rows are not copied: %+v, %v", by, err)
				}
			}
		})
	}
}

// TestSameRowsAreCopied has an alias that would give the values to another field.
func TestSameRowsAreCopied(t *testing.T) {
	a := parse(t, `{"type":"record","name":"R","fields":[{"name":"a","type":["null","long"],"default":null},{"name":"b","type":"long"}]}`)
	b := parse(t, `{"type":"record","name":"R","fields":[{"name":"a","type":["null","long"],"aliases":["x"]},{"name":"b","type":"long","aliases":["a"]}]}`)
	by, err := Resolve(a, b, AllowChanges)
	if err != nil || !by.Identity() {
		t.Fatalf("%+v, %v", by, err)
	}
}
