package shred_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

const keySchema = `{"type":"record","name":"R","fields":[
	{"name":"id","type":"long"},
	{"name":"maybe","type":["null",{"type":"record","name":"M","fields":[{"name":"id","type":"int"}]}]},
	{"name":"sender","type":{"type":"record","name":"S","fields":[
		{"name":"nothing","type":"null"},
		{"name":"name","type":"string"},
		{"name":"tags","type":{"type":"array","items":"string"}}]}},
	{"name":"none","type":["null","double"]}]}`

// Key returns the position of the field's encoding in the datum.
func TestKeys(t *testing.T) {
	m := mapping(t, keySchema, shred.Options{})
	paths := []string{"none", "id", "sender", "sender.name", "sender.nothing", "sender.tags", "maybe", "id"}
	s, err := shred.NewKeyShredder(m, newBuffers(m), paths)
	testenv.Must(t, err)
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		fields := map[string][]byte{}
		var row []byte
		for _, f := range m.Schema.Root().Fields {
			from := len(row)
			if f.Name == "sender" {
				for _, g := range f.Type.Fields {
					_, v := randavro.Pair(r, g.Type)
					row, fields["sender."+g.Name] = append(row, v...), v
				}
			} else {
				_, v := randavro.Pair(r, f.Type)
				row = append(row, v...)
			}
			fields[f.Name] = row[from:]
		}
		// The row is followed by others or by nothing.
		rows := append(bytes.Clone(row), make([]byte, r.IntN(2)*100)...)
		if n, err := s.Row(rows); err != nil || n != len(row) {
			t.Fatalf("%d of %d bytes, %v", n, len(row), err)
		}
		for i, path := range paths {
			if got := s.Key(i); !bytes.Equal(got, fields[path]) {
				t.Fatalf("%s is % x, want % x, in % x", path, got, fields[path], row)
			}
		}
	}
}

func TestInvalidKeys(t *testing.T) {
	m := mapping(t, keySchema, shred.Options{})
	for path, reason := range map[string]string{
		"":              `no field ""`,
		"sender.":       `no field ""`,
		"Id":            `no field "Id"`,
		"maybe.id":      `"id" is not a field of a record`,
		"sender.tags[]": `no field "tags[]"`,
		"id.x":          `"x" is not a field`,
	} {
		if _, err := shred.NewKeyShredder(m, newBuffers(m), []string{"id", path}); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%q: %v, want %q", path, err, reason)
		}
	}
}
