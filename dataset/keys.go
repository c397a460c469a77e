package dataset

import (
	"slices"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// duplicateKey returns the error for a key that occurs twice in a path.
func duplicateKey(path, key string) error {
	return damage.New(damage.Schema, path, -1, "the key %q is twice in the path", key)
}

// settleKeys finds the keys of all sets, and their types. If the sets have different keys
// in the paths that the user named, these keys are not used.
func (l *Listing) settleKeys(patterns bool) error {
	differs := l.differentKeys()
	if differs > 0 && !patterns {
		for i := range l.Sets {
			s := &l.Sets[i]
			s.Keys = s.Keys[s.named:]
		}
		differs = l.differentKeys()
	}
	//guard: rejects values that belong to other keys
	if differs > 0 {
		return damage.New(damage.Schema, l.Sets[differs].Path, -1, "its directories have the keys %q, those of %s %q",
			names(l.Sets[differs].Keys), l.Sets[0].Path, names(l.Sets[0].Keys))
	}
	for i, k := range l.Sets[0].Keys {
		l.keys = append(l.keys, newKeyColumn(k.Name, l.Sets, i))
	}
	return nil
}

// differentKeys returns the index of the first set whose keys differ from the keys of set
// 0. It returns 0 if no keys differ.
func (l *Listing) differentKeys() int {
	first := names(l.Sets[0].Keys)
	return max(slices.IndexFunc(l.Sets, func(s Set) bool { return !slices.Equal(names(s.Keys), first) }), 0)
}

func names(keys []manifest.Key) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.Name
	}
	return all
}

// keyColumn is a key as a field of the rows.
type keyColumn struct {
	name     string
	kind     manifest.KeyType
	optional bool // some directory has no value
}

// keyTypes holds the Avro types of keys as JSON.
var keyTypes = [...]string{manifest.KeyText: `"string"`, manifest.KeyLong: `"long"`, manifest.KeyDate: `{"type":"int","logicalType":"date"}`}

// newKeyColumn returns key i of the sets as a field.
func newKeyColumn(name string, sets []Set, i int) keyColumn {
	c, values := keyColumn{name: name}, make([]manifest.Key, len(sets))
	for s := range sets {
		values[s] = sets[s].Keys[i]
		c.optional = c.optional || values[s].Null
	}
	c.kind = manifest.TypeOf(values)
	return c
}

// field returns the field that is added to rows.
func (c *keyColumn) field() shred.NewField {
	f := shred.NewField{Name: c.name, Type: keyTypes[c.kind]}
	if c.optional {
		f.Type = `["null",` + f.Type + "]"
	}
	return f
}

// extend adds keys to rows, except those that the rows have as fields of their own. It
// returns the mapping of these rows, and the indexes of the added keys.
func extend(m *shred.Mapping, keys []keyColumn) (*shred.Mapping, []int, error) {
	if len(keys) == 0 || !m.Schema.Extensible() {
		return m, nil, nil
	}
	var fields []shred.NewField
	var added []int
	for i := range keys {
		if !hasField(m.Schema, keys[i].name) {
			fields, added = append(fields, keys[i].field()), append(added, i)
		}
	}
	if len(fields) == 0 {
		return m, nil, nil
	}
	schema, err := m.Schema.Extend(fields)
	if err != nil {
		return nil, nil, err
	}
	// RecursiveBytes only matters for rows that are not in columns yet.
	m, err = shred.Map(schema, shred.Options{RecursiveBytes: true})
	return m, added, err
}

func hasField(s *shred.Schema, name string) bool {
	return slices.ContainsFunc(s.Root().Fields, func(f shred.Field) bool { return f.Name == name })
}
