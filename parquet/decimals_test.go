package parquet

import (
	"errors"
	"math/big"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Decimals for which readers would refuse the column are refused with their row.
func TestOddDecimals(t *testing.T) {
	const (
		short = `{"type":"bytes","logicalType":"decimal","precision":3,"scale":1}`
		long  = `{"type":"bytes","logicalType":"decimal","precision":38,"scale":1}`
		wide  = `{"type":"bytes","logicalType":"decimal","precision":39,"scale":1}`
		fixed = `{"type":"fixed","name":"F","size":3,"logicalType":"decimal","precision":3}`
	)
	power := func(n int64, off int64) string {
		v := new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil)
		return string(column.DecimalOf(v.Add(v, big.NewInt(off))))
	}
	for _, c := range []struct{ typ, v, err string }{
		{short, "\x03\xe7", ""},
		{short, "\x03\xe8", "the decimal 0x03e8 has more digits than its precision, 3; with plain bytes"},
		{short, "\xfc\x19", ""},
		{short, "\xfc\x18", "has more digits"},
		{short, "\x00\x00\x03\xe7", ""},
		{short, "", "a decimal of 0 bytes; readers accept 1 to 16; with plain bytes"},
		{short, strings.Repeat("\x00", 16), ""},
		{short, strings.Repeat("\x00", 17), "a decimal of 17 bytes"},
		{long, power(38, -1), ""},
		{long, power(38, 0), "has more digits"},
		{wide, power(60, 0), ""},
		{wide, "", ""},
		{fixed, "\x00\x03\xe7", ""},
		{fixed, "\x00\x03\xe8", "has more digits"},
		{fixed, "\xff\xfc\x18", "has more digits"},
	} {
		for _, dictionary := range []bool{true, false} {
			schema := `{"type":"record","name":"R","fields":[{"name":"f","type":["null",` + c.typ + `]}]}`
			g := newGroupMaker(t, schema, options{}, 1<<20)
			if !dictionary {
				g.group.columns[0].turns.pass(0, true)
			}
			put := func(v string) {
				if c.typ == fixed {
					g.row(append([]byte{2}, v...))
				} else {
					g.row(appendText([]byte{2}, v))
				}
			}
			g.row([]byte{0})
			for range maxPageRows {
				put("\x00\x00\x01")
			}
			put(c.v)
			put("\x00\x00\x02")
			g.bufs.Cols[0].Finish(g.rows, &g.block)
			job, err := g.group.Begin(0, &g.block)
			testenv.Must(t, err)
			_, err = job.Encode(nil)
			d := (*damage.Error)(nil)
			if (err == nil) != (c.err == "") || err != nil && (!errors.As(err, &d) || !strings.Contains(d.Reason, c.err) || d.Row != maxPageRows+1) {
				t.Errorf("%s: %x: %v", c.typ, c.v, err)
			}
		}
	}
}
