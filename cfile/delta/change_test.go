package delta

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
)

// The examples in Kudu's source, and others made by its rules.
func TestChange(t *testing.T) {
	for _, c := range []struct {
		change Change
		bytes  string
	}{
		{Change{Update, []Cell{{Column: 2, Value: []byte("hello")}}}, "01020668656c6c6f"},
		{Change{Update, []Cell{{Column: 3, Value: []byte{33, 0, 0, 0}}}}, "01030521000000"},
		{Change{Update, []Cell{{Column: 3, Null: true}}}, "010300"},
		{Change{Update, []Cell{{Column: 300, Value: []byte{}}, {Column: 1<<31 - 1, Null: true}}}, "01ac0201ffffffff0700"},
		{Change{Delete, nil}, "02"},
		{Change{Reinsert, []Cell{{Column: 1, Null: true}, {Column: 2, Value: []byte("a")}}}, "03010002 0261"},
		{Change{Reinsert, nil}, "03"},
	} {
		want := unhex(t, string(bytes.ReplaceAll([]byte(c.bytes), []byte(" "), nil)))
		got, err := c.change.Append(nil)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("%+v is %x, %v, want %x", c.change, got, err, want)
		}
		back := Change{Cells: []Cell{{Column: 9, Null: true}}}
		if err := back.Parse(want); err != nil || back.Kind != c.change.Kind || len(back.Cells) != len(c.change.Cells) ||
			len(back.Cells) > 0 && !reflect.DeepEqual(back.Cells, c.change.Cells) {
			t.Errorf("%x is %+v, %v, want %+v", want, back, err, c.change)
		}
	}
}

func TestChangeRefuses(t *testing.T) {
	cell := []Cell{{Column: 1, Null: true}}
	for _, c := range []Change{{}, {4, cell}, {Delete, cell}, {Update, nil}, {Update, []Cell{{Column: 1 << 31}}}} {
		if b, err := c.Append(nil); err == nil {
			t.Errorf("%+v is taken: %x", c, b)
		}
	}
}

func TestChangeDamage(t *testing.T) {
	for _, c := range []struct {
		bytes string
		kind  damage.Kind
	}{
		{"", damage.Truncated},
		{"00", damage.Value},
		{"04", damage.Value},
		{"0200", damage.Trailing},
		{"01", damage.Truncated},
		{"0180", damage.Value},             // the column ID has no end
		{"0180808080080100", damage.Value}, // it is 2³¹
		{"0102", damage.Truncated},         // no size
		{"010280", damage.Truncated},       // the size has no end
		{"010203ff", damage.Size},          // two bytes, of which one is there
		{"0102ffffffffffffffffff01ff", damage.Size},
	} {
		var change Change
		err := change.Parse(unhex(t, c.bytes))
		if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != c.kind {
			t.Errorf("%s: %v, want %s", c.bytes, err, c.kind)
		}
	}
}
