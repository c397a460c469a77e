package dataset_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/twmb/avro"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/shred"
)

// predicate is a random condition with its plain meaning.
type predicate struct {
	text  string
	holds func(row any) bool
}

// place is a field that a condition may name.
type place struct {
	path string
	node *shred.Node
}

// places finds the fields outside of arrays and maps.
func places(n *shred.Node, path string, all *[]place) {
	switch {
	case n.Kind == shred.KindRecord:
		for _, f := range n.Fields {
			places(f.Type, strings.TrimPrefix(path+"."+f.Name, "."), all)
		}
	case n.Kind == shred.KindUnion:
		var some []*shred.Node
		for _, b := range n.Branches {
			if b.Kind != shred.KindNull {
				some = append(some, b)
			}
		}
		if len(some) == 1 {
			places(some[0], path, all)
		}
	case n.Kind.Simple():
		*all = append(*all, place{path, n})
	}
}

// get returns the value at a place, nil for null.
func (p place) get(row any) any {
	for _, name := range strings.Split(p.path, ".") {
		record, ok := row.(map[string]any)
		if !ok {
			return nil
		}
		row = record[name]
	}
	return row
}

// order compares two values that are not null; ok is false for NaN.
func order(a, b any) (c int, ok bool) {
	switch x := a.(type) {
	case string:
		return strings.Compare(x, text(b)), true
	case []byte:
		return strings.Compare(string(x), text(b)), true
	case bool:
		if x == b.(bool) {
			return 0, true
		}
		return 1, true
	}
	x, xok := number(a)
	y, yok := number(b)
	if !xok || !yok {
		return 0, false
	}
	return x.Cmp(y), true
}

func text(v any) string {
	if b, ok := v.([]byte); ok {
		return string(b)
	}
	return v.(string)
}

func number(v any) (*big.Float, bool) {
	var f float64
	switch v := v.(type) {
	case int:
		return new(big.Float).SetInt64(int64(v)), true
	case int32:
		return new(big.Float).SetInt64(int64(v)), true
	case int64:
		return new(big.Float).SetInt64(v), true
	case float32:
		f = float64(v)
	case float64:
		f = v
	default:
		panic(fmt.Sprintf("%T", v))
	}
	if math.IsNaN(f) {
		return nil, false
	}
	return big.NewFloat(f), true
}

// literal writes a value as the language does, if it can.
func literal(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v), true
	case []byte:
		return strconv.Quote(string(v)), true
	case bool:
		return strconv.FormatBool(v), true
	case int32:
		return strconv.Itoa(int(v)), true
	case int64:
		return strconv.FormatInt(v, 10), v != math.MinInt64
	case float32:
		return literal(float64(v))
	case float64:
		return strconv.FormatFloat(v, 'e', -1, 64), !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return "", false
}

var operators = map[string]func(c int, ok bool) bool{
	"==": func(c int, ok bool) bool { return ok && c == 0 },
	"!=": func(c int, ok bool) bool { return !ok || c != 0 },
	"<":  func(c int, ok bool) bool { return ok && c < 0 },
	"<=": func(c int, ok bool) bool { return ok && c <= 0 },
	">":  func(c int, ok bool) bool { return ok && c > 0 },
	">=": func(c int, ok bool) bool { return ok && c >= 0 },
}

// generator makes conditions on rows of which it knows some.
type generator struct {
	*rand.Rand
	places []place
	rows   []any
}

// class groups the kinds that compare with each other.
func class(k shred.Kind) int {
	switch k {
	case shred.KindBoolean:
		return 0
	case shred.KindInt, shred.KindLong, shred.KindFloat, shred.KindDouble:
		return 1
	case shred.KindString, shred.KindBytes, shred.KindEnum:
		return 2
	}
	return 3
}

func (g *generator) condition(depth int) predicate {
	if depth > 0 {
		switch g.IntN(4) {
		case 0:
			a, b := g.condition(depth-1), g.condition(depth-1)
			return predicate{"(" + a.text + ") && (" + b.text + ")", func(r any) bool { return a.holds(r) && b.holds(r) }}
		case 1:
			a, b := g.condition(depth-1), g.condition(depth-1)
			return predicate{"(" + a.text + ") || (" + b.text + ")", func(r any) bool { return a.holds(r) || b.holds(r) }}
		case 2:
			a := g.condition(depth - 1)
			return predicate{"not (" + a.text + ")", func(r any) bool { return !a.holds(r) }}
		}
	}
	p := g.places[g.IntN(len(g.places))]
	null := func(r any) bool { return p.get(r) == nil }
	if class(p.node.Kind) == 3 || g.IntN(6) == 0 {
		return predicate{p.path + " == null", null}
	}
	if class(p.node.Kind) == 0 {
		return predicate{p.path, func(r any) bool { return p.get(r) == true }}
	}
	names := []string{"==", "!=", "<", "<=", ">", ">="}
	op := names[g.IntN(len(names))]
	if g.IntN(4) == 0 { // with another field
		q := g.places[g.IntN(len(g.places))]
		if class(q.node.Kind) == class(p.node.Kind) {
			return predicate{p.path + op + q.path, func(r any) bool {
				return p.get(r) != nil && q.get(r) != nil && operators[op](order(p.get(r), q.get(r)))
			}}
		}
	}
	v := p.get(g.rows[g.IntN(len(g.rows))])
	lit, ok := literal(v)
	if !ok {
		return predicate{p.path + " != null", func(r any) bool { return !null(r) }}
	}
	switch {
	case class(p.node.Kind) == 2 && g.IntN(3) == 0:
		part := text(v)[:g.IntN(len(text(v))+1)]
		return predicate{p.path + " contains " + strconv.Quote(part), func(r any) bool { return !null(r) && strings.Contains(text(p.get(r)), part) }}
	case g.IntN(4) == 0:
		w := p.get(g.rows[g.IntN(len(g.rows))])
		if other, ok := literal(w); ok {
			equal := operators["=="]
			return predicate{p.path + " in [" + lit + ", " + other + "]", func(r any) bool {
				return !null(r) && (equal(order(p.get(r), v)) || equal(order(p.get(r), w)))
			}}
		}
	case g.IntN(8) == 0:
		return predicate{lit + op + p.path, func(r any) bool { return !null(r) && operators[op](order(v, p.get(r))) }}
	case class(p.node.Kind) == 1 && g.IntN(8) == 0:
		return predicate{"float(" + p.path + ") == 0.0", func(r any) bool {
			f, ok := number(p.get0(r))
			return !null(r) && ok && f.Sign() == 0
		}}
	}
	return predicate{p.path + op + lit, func(r any) bool { return !null(r) && operators[op](order(p.get(r), v)) }}
}

// get0 is get with zero for null.
func (p place) get0(row any) any {
	if v := p.get(row); v != nil {
		return v
	}
	return 0
}

// byID sorts rows by a field.
type byID struct {
	id      place
	rows    [][]byte
	decoded []any
}

func (s *byID) Len() int { return len(s.rows) }
func (s *byID) Less(i, j int) bool {
	c, _ := order(s.id.get(s.decoded[i]), s.id.get(s.decoded[j]))
	return c < 0
}
func (s *byID) Swap(i, j int) {
	s.rows[i], s.rows[j] = s.rows[j], s.rows[i]
	s.decoded[i], s.decoded[j] = s.decoded[j], s.decoded[i]
}

// A scan with a condition gives the rows of which another reader says that
// they meet it, in any projection, offset and limit.
func TestRandomConditions(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		for seed := range soak.Rounds[uint64](16, 40) {
			r := rand.New(rand.NewPCG(seed, 8))
			schema := strings.ReplaceAll(randavro.Schema(r), `"logicalType":"timestamp-micros",`, "")
			parsed, err := shred.ParseSchema(schema)
			if err != nil {
				t.Fatal(err)
			}
			decoder := avro.MustParse(schema)
			g := &generator{Rand: r}
			places(parsed.Root(), "", &g.places)
			rows := make([][]byte, 150)
			for i := range rows {
				rows[i], _ = randavro.Pair(r, parsed.Root())
				var v any
				if _, err := decoder.Decode(rows[i], &v); err != nil {
					t.Fatal(err)
				}
				g.rows = append(g.rows, v)
			}
			if seed%2 == 0 { // an ascending index is used
				id := place{path: "id"}
				sort.Sort(&byID{id, rows, g.rows})
				g.places = append(g.places, g.places[0], g.places[0], g.places[0])
			}
			dir := t.TempDir()
			writeAvro(t, filepath.Join(dir, "in.avro"), schema, rows)
			convert(t, f, filepath.Join(dir, "in.avro"), filepath.Join(dir, "out"), settings{blockSize: 300, choices: map[string][]string{"values": {"id"}}})
			d := open(t, filepath.Join(dir, "out"), dataset.Options{Formats: formats})
			for range 15 {
				p := g.condition(2)
				q := dataset.Query{Limit: -1}
				if r.IntN(2) == 0 {
					for range 1 + r.IntN(2) {
						q.Columns = append(q.Columns, d.Mapping().Columns[r.IntN(len(d.Mapping().Columns))].Name)
					}
				}
				all, _, err := scan(t, d, q)
				if err != nil {
					t.Fatal(err)
				}
				var want [][]byte
				for i, row := range all {
					if p.holds(g.rows[i]) {
						want = append(want, row)
					}
				}
				if q.Where = p.text; r.IntN(3) == 0 {
					q.Offset, q.Limit = int64(r.IntN(20)), int64(r.IntN(60))
					want = want[min(int(q.Offset), len(want)):]
					want = want[:min(int(q.Limit), len(want))]
				}
				got, _, err := scan(t, d, q)
				if err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
					t.Fatalf("seed %d, %+v: %d rows, want %d, %v\n%s", seed, q, len(got), len(want), err, schema)
				}
				if got, _, err = batches(t, d, q); err != nil || !slices.EqualFunc(got, want, bytes.Equal) {
					t.Fatalf("seed %d, batches of %+v: %d rows, want %d, %v\n%s", seed, q, len(got), len(want), err, schema)
				}
			}
		}
	})
}
