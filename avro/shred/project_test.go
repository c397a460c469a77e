package shred_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

const shop = `{"type":"record","name":"Order","namespace":"shop","doc":"An order","fields":[
	{"name":"id","type":"long","doc":"Its number"},
	{"name":"when","type":{"type":"long","logicalType":"timestamp-millis"}},
	{"name":"buyer","type":["null",{"type":"record","name":"Person","fields":[
		{"name":"name","type":"string"},
		{"name":"home","type":{"type":"record","name":"Place","namespace":"geo","fields":[
			{"name":"lat","type":"double"},{"name":"lon","type":"double"}]},"default":{"lat":1,"lon":2}},
		{"name":"mail","type":["null","string"],"default":null}]}]},
	{"name":"seller","type":"Person"},
	{"name":"lines","type":{"type":"array","items":{"type":"record","name":"Line","fields":[
		{"name":"sku","type":"string"},
		{"name":"tags","type":{"type":"map","values":"int"}},
		{"name":"at","type":"geo.Place"}]}}},
	{"name":"paid","type":["string",
		{"type":"record","name":"Card","fields":[{"name":"number","type":"string"},{"name":"until","type":"int"}]},
		{"type":"record","name":"Bank","fields":[{"name":"iban","type":"string"},{"name":"until","type":"int"}]},
		{"type":"array","items":{"type":"record","name":"Coin","fields":[{"name":"value","type":"int"}]}}]}]}`

func TestProject(t *testing.T) {
	whole := mapping(t, shop, shred.Options{})
	for _, test := range []struct {
		paths, columns string
		schema         []string // texts in the schema's JSON, or after ! not in it
	}{
		{"id", "id", []string{`"doc":"Its number"`, `"doc":"An order"`, `!when`}},
		{"seller.name", "seller#name", []string{`"name":"Person"`, `!Place`}},
		{"buyer.home.lat", "buyer/shop.Person buyer/shop.Person#home#lat", []string{`"default":{"lat":1}`, `"namespace":"geo"`}},
		{"buyer", "buyer/shop.Person buyer/shop.Person#name buyer/shop.Person#home#lat buyer/shop.Person#home#lon buyer/shop.Person#mail/string", nil},
		{"lines.sku", "lines[] lines[]#sku", nil},
		{"lines[]#tags>value", "lines[] lines[]#tags> lines[]#tags>key lines[]#tags>value", nil},
		{"lines[]#tags>key", "lines[] lines[]#tags> lines[]#tags>key lines[]#tags>value", nil},
		{"lines.at.lon id", "id lines[] lines[]#at#lon", []string{`"name":"Place","namespace":"geo"`}},
		{"seller.mail buyer.mail", "buyer/shop.Person buyer/shop.Person#mail/string seller#mail/string", []string{`"type":"Person"`, `!_2`}},
		{"buyer.name seller.mail", "buyer/shop.Person buyer/shop.Person#name seller#mail/string", []string{`"name":"Person_2"`}},
		{"buyer.name seller", "buyer/shop.Person buyer/shop.Person#name seller#name seller#home#lat seller#home#lon seller#mail/string", []string{`"name":"Person_2"`, `"default":{"lat":1,"lon":2}`}},
		{"paid.until", "paid/string paid/shop.Card paid/shop.Card#until paid/shop.Bank paid/shop.Bank#until paid/array paid/array[]", []string{`{"fields":[],"name":"Coin"`}},
		{"paid.value", "paid/string paid/shop.Card paid/shop.Bank paid/array paid/array[] paid/array[]#value", nil},
		{"paid/shop.Bank#iban", "paid/string paid/shop.Card paid/shop.Bank paid/shop.Bank#iban paid/array paid/array[]", nil},
		{"", "", nil},
	} {
		t.Run(test.paths, func(t *testing.T) {
			m, cols, err := whole.Project(strings.Fields(test.paths))
			testenv.Must(t, err)
			var names []string
			for i, c := range m.Columns {
				names = append(names, c.Name)
				from := whole.Columns[cols[i]]
				if c.Parent >= 0 {
					c.Parent = cols[c.Parent]
				}
				if !reflect.DeepEqual(c, from) {
					t.Errorf("column %v is %v in the whole", c, from)
				}
			}
			if want := strings.Fields(test.columns); !slices.Equal(names, want) {
				t.Errorf("columns %q, want %q", names, want)
			}
			for _, part := range test.schema {
				part, not := strings.CutPrefix(part, "!")
				if strings.Contains(m.Schema.JSON(), part) == not {
					t.Errorf("%s: %s", part, m.Schema.JSON())
				}
			}
		})
	}
}

// Selecting all columns one by one gives the original schema.
func TestProjectEverything(t *testing.T) {
	for _, o := range []string{shop, `"int"`, `["null","int"]`, `{"type":"array","items":"string"}`} {
		whole := mapping(t, o, shred.Options{})
		var paths []string
		for _, c := range whole.Columns {
			paths = append(paths, c.Name)
		}
		m, cols, err := whole.Project(paths)
		if err != nil || len(cols) != len(whole.Columns) || m.Schema.Canonical() != whole.Schema.Canonical() {
			t.Errorf("%v: %v\n%s", cols, err, m.Schema.JSON())
		}
	}
}

// A recursive part is one column and stays whole, even if little of the same type is
// selected elsewhere.
func TestProjectRecursive(t *testing.T) {
	whole := mapping(t, `{"type":"record","name":"Node","fields":[{"name":"value","type":"int"},{"name":"next","type":["null","Node"]}]}`, shred.Options{RecursiveBytes: true})
	m, cols, err := whole.Project([]string{"next"})
	testenv.Must(t, err)
	if !slices.Equal(cols, []int{1}) {
		t.Errorf("columns %v", cols)
	}
	const want = `{"fields":[{"name":"next","type":["null",{"fields":[{"name":"value","type":"int"},{"name":"next","type":["null","Node_2"]}],"name":"Node_2","type":"record"}]}],"name":"Node","type":"record"}`
	if m.Schema.JSON() != want {
		t.Error(m.Schema.JSON())
	}
	if _, _, err := whole.Project([]string{"next.value"}); err == nil {
		t.Error("a path into the recursive part is accepted")
	}
}

func TestPathErrors(t *testing.T) {
	m := mapping(t, shop, shred.Options{})
	for path, near := range map[string]string{
		"idd":           "id",
		"lines.skuu":    "lines.sku",
		"Buyer.Name":    "buyer.name",
		"lat":           "buyer.home.lat seller.home.lat lines.at.lat",
		"id.x":          "id",
		"nothing.at.al": "",
	} {
		_, _, err := m.Project([]string{path})
		var e *shred.PathError
		if !errors.As(err, &e) || strings.Join(e.Near, " ") != near {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func TestFieldAt(t *testing.T) {
	root := mapping(t, shop, shred.Options{}).Root()
	for path, want := range map[string]string{
		"id": "long ", "seller.name": "record name", "seller.mail": "record mail", "lines.sku": "array sku", "id.id": "long id",
		"nothing": "", "": "", "sell": "",
	} {
		field, rest, ok := root.FieldAt(path)
		got := ""
		if ok {
			got = field.Type().Kind.String() + " " + rest
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
