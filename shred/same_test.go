package shred

import "testing"

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
		one, err := ParseSchema(a)
		if err != nil {
			t.Fatal(name, err)
		}
		other, err := ParseSchema(tt.b)
		if err != nil {
			t.Fatal(name, err)
		}
		if one.Same(other) != tt.same || one.Canonical() == other.Canonical() {
			t.Errorf("%s: same %v\n%s\n%s", name, !tt.same, one.Identity(), other.Identity())
		}
	}
	long, _ := ParseSchema(`{"type":"long","logicalType":"timestamp-millis"}`)
	plain, _ := ParseSchema(`{"type":"long"}`)
	if long.Same(plain) {
		t.Error("a logical type does not count")
	}
}
