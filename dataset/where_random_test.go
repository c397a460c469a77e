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

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/randavro"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// truth is the value of a condition on a row.
type truth int8

const (
	no truth = iota - 1
	unknown
	yes
)

func truthOf(holds bool) truth {
	if holds {
		return yes
	}
	return no
}

// predicate is a random condition with a function that evaluates it.
type predicate struct {
	text  string
	truth func(row any) truth
}

// place is a field that a condition may name.
type place struct {
	path  string
	node  *shred.Node
	names []string // names and keys of maps on the path; none is the row itself
}

// below returns the place of a name or a key in p.
func (p place) below(name, path string, n *shred.Node) place {
	return place{strings.TrimPrefix(path, "."), n, append(slices.Clone(p.names), name)}
}

// findPlaces finds the fields outside of arrays, some keys of maps, and the arrays.
func findPlaces(p place, fields, arrays *[]place) {
	switch n := p.node; {
	case n.Kind == shred.KindRecord:
		for _, f := range n.Fields {
			findPlaces(p.below(f.Name, strings.TrimPrefix(p.path, "#")+"."+f.Name, f.Type), fields, arrays)
		}
	case n.Kind == shred.KindUnion:
		var some []*shred.Node
		for _, b := range n.Branches {
			if b.Kind != shred.KindNull {
				some = append(some, b)
			}
		}
		if len(some) == 1 {
			findPlaces(place{p.path, some[0], p.names}, fields, arrays)
		}
	case n.Kind.Simple():
		*fields = append(*fields, p)
	case n.Kind == shred.KindArray:
		*arrays = append(*arrays, p)
	case n.Kind == shred.KindMap && !strings.Contains(p.path, "['"):
		for _, key := range []string{"", "a", "key"} {
			findPlaces(p.below(key, p.path+"['"+key+"']", n.Items), fields, &[]place{})
		}
	}
}

// get returns the value at a place, nil for null.
func (p place) get(row any) any {
	for _, name := range p.names {
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

// literal returns a value in the syntax of conditions, if it has one.
func literal(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		if len(v)%2 == 0 {
			return "'" + strings.ReplaceAll(v, "'", "''") + "'", true
		}
		return strconv.Quote(v), true
	case []byte:
		return fmt.Sprintf("x'%x'", v), true
	case bool:
		return strconv.FormatBool(v), true
	case int32:
		return strconv.Itoa(int(v)), true
	case int64:
		return strconv.FormatInt(v, 10), true
	case float32:
		return literal(float64(v))
	case float64:
		return strconv.FormatFloat(v, 'e', -1, 64), !math.IsNaN(v) && !math.IsInf(v, 0)
	}
	return "", false
}

var operators = map[string]func(c int, ok bool) bool{
	"==": func(c int, ok bool) bool { return ok && c == 0 },
	"=":  func(c int, ok bool) bool { return ok && c == 0 },
	"!=": func(c int, ok bool) bool { return !ok || c != 0 },
	"<>": func(c int, ok bool) bool { return !ok || c != 0 },
	"<":  func(c int, ok bool) bool { return ok && c < 0 },
	"<=": func(c int, ok bool) bool { return ok && c <= 0 },
	">":  func(c int, ok bool) bool { return ok && c > 0 },
	">=": func(c int, ok bool) bool { return ok && c >= 0 },
}

// generator makes random conditions on rows, or on items of arrays. Their constants
// come from some known rows.
type generator struct {
	*rand.Rand
	places, arrays []place
	rows           []any
}

func newGenerator(r *rand.Rand, p place, rows []any) *generator {
	g := &generator{Rand: r, rows: rows}
	findPlaces(p, &g.places, &g.arrays)
	return g
}

// class returns the group of kinds that can be compared with each other.
func class(k shred.Kind) int {
	switch k {
	case shred.KindBoolean:
		return 0
	case shred.KindInt, shred.KindLong, shred.KindFloat, shred.KindDouble:
		return 1
	case shred.KindString, shred.KindEnum:
		return 2
	case shred.KindBytes:
		return 3
	}
	return 4
}

func (g *generator) condition(depth int) predicate {
	if depth == 0 {
		return g.leaf()
	}
	switch g.IntN(4) {
	case 0:
		a, b := g.condition(depth-1), g.condition(depth-1)
		return predicate{"(" + a.text + ") && (" + b.text + ")", func(r any) truth { return min(a.truth(r), b.truth(r)) }}
	case 1:
		a, b := g.condition(depth-1), g.condition(depth-1)
		return predicate{"(" + a.text + ") OR (" + b.text + ")", func(r any) truth { return max(a.truth(r), b.truth(r)) }}
	case 2:
		a := g.condition(depth - 1)
		return predicate{"not (" + a.text + ")", func(r any) truth { return -a.truth(r) }}
	}
	return g.leaf()
}

// unlessNull returns a function that is unknown for null.
func (p place) unlessNull(holds func(v any) bool) func(row any) truth {
	return func(row any) truth {
		v := p.get(row)
		if v == nil {
			return unknown
		}
		return truthOf(holds(v))
	}
}

func (g *generator) leaf() predicate {
	if len(g.arrays) > 0 && (g.IntN(3) == 0 || len(g.places) == 0) {
		return g.any(g.arrays[g.IntN(len(g.arrays))])
	}
	if len(g.places) == 0 {
		return predicate{"true", func(any) truth { return yes }}
	}
	p := g.places[g.IntN(len(g.places))]
	v := p.get(g.rows[g.IntN(len(g.rows))])
	lit, ok := literal(v)
	switch {
	case class(p.node.Kind) == 4 || g.IntN(6) == 0:
		return predicate{p.path + " == null", func(r any) truth { return truthOf(p.get(r) == nil) }}
	case class(p.node.Kind) == 0:
		return predicate{p.path, p.unlessNull(func(v any) bool { return v == true })}
	case !ok:
		return predicate{p.path + " IS NOT NULL", func(r any) truth { return truthOf(p.get(r) != nil) }}
	}
	return g.comparison(p, v, lit)
}

// comparison returns a predicate that compares a field with a value, or a similar one.
func (g *generator) comparison(p place, v any, lit string) predicate {
	names := []string{"==", "=", "!=", "<>", "<", "<=", ">", ">="}
	op := names[g.IntN(len(names))]
	other := g.places[g.IntN(len(g.places))]
	w := p.get(g.rows[g.IntN(len(g.rows))])
	second, both := literal(w)
	holds := func(v any) func(any) bool { return func(x any) bool { return operators[op](order(x, v)) } }
	switch {
	case class(other.node.Kind) == class(p.node.Kind) && g.IntN(4) == 0:
		return predicate{p.path + " " + op + " " + other.path, func(r any) truth {
			if p.get(r) == nil || other.get(r) == nil {
				return unknown
			}
			return truthOf(operators[op](order(p.get(r), other.get(r))))
		}}
	case class(p.node.Kind) >= 2 && g.IntN(3) == 0:
		part := text(v)[:g.IntN(len(text(v))+1)]
		quoted := strconv.Quote(part)
		if class(p.node.Kind) == 3 {
			quoted = fmt.Sprintf("x'%x'", part)
		}
		return predicate{p.path + " contains " + quoted, p.unlessNull(func(v any) bool { return strings.Contains(text(v), part) })}
	case both && g.IntN(4) == 0:
		equal := operators["=="]
		return predicate{p.path + " in [" + lit + ", " + second + "]", p.unlessNull(func(x any) bool { return equal(order(x, v)) || equal(order(x, w)) })}
	case both && g.IntN(4) == 0:
		return predicate{p.path + " NOT BETWEEN " + lit + " AND " + second, p.unlessNull(func(x any) bool {
			return !(operators[">="](order(x, v)) && operators["<="](order(x, w)))
		})}
	case g.IntN(8) == 0:
		return predicate{lit + op + p.path, p.unlessNull(func(x any) bool { return operators[op](order(v, x)) })}
	case class(p.node.Kind) == 1 && g.IntN(8) == 0:
		return predicate{"float(" + p.path + ") == 0.0", p.unlessNull(func(v any) bool {
			f, ok := number(v)
			return ok && f.Sign() == 0
		})}
	}
	return predicate{p.path + op + lit, p.unlessNull(holds(v))}
}

// any returns a condition on the items of an array.
func (g *generator) any(p place) predicate {
	items := func(row any) (items []any, ok bool) {
		items, ok = p.get(row).([]any)
		return items, ok
	}
	var some []any
	for _, row := range g.rows {
		values, _ := items(row)
		some = append(some, values...)
	}
	if len(some) == 0 {
		return predicate{"any(" + p.path + ", true)", func(r any) truth {
			if _, ok := items(r); !ok {
				return unknown
			}
			return no
		}}
	}
	c := newGenerator(g.Rand, place{"#", p.node.Items, nil}, some).condition(g.IntN(2))
	return predicate{"any(" + p.path + ", " + c.text + ")", func(r any) truth {
		values, ok := items(r)
		if !ok {
			return unknown
		}
		return truthOf(slices.ContainsFunc(values, func(item any) bool { return c.truth(item) == yes }))
	}}
}

// byField sorts rows by a field, those without a value first.
type byField struct {
	field   place
	rows    [][]byte
	decoded []any
}

func (s *byField) Len() int { return len(s.rows) }
func (s *byField) Less(i, j int) bool {
	a, b := s.field.get(s.decoded[i]), s.field.get(s.decoded[j])
	if a == nil || b == nil {
		return a == nil && b != nil
	}
	c, _ := order(a, b)
	return c < 0
}
func (s *byField) Swap(i, j int) {
	s.rows[i], s.rows[j] = s.rows[j], s.rows[i]
	s.decoded[i], s.decoded[j] = s.decoded[j], s.decoded[i]
}

// A scan with a condition returns the rows that match it according to another
// reader, with any projection, offset and limit.
func TestRandomConditions(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		for seed := range soak.Rounds[uint64](16, 40) {
			r := rand.New(rand.NewPCG(seed, 8))
			schema := strings.ReplaceAll(randavro.Schema(r), `"logicalType":"timestamp-micros",`, "")
			parsed := avrotest.Parse(t, schema)
			decoder := avro.MustParse(schema)
			var decoded []any
			rows := make([][]byte, 150)
			for i := range rows {
				rows[i], _ = randavro.Pair(r, parsed.Root())
				var v any
				if _, err := decoder.Decode(rows[i], &v); err != nil {
					t.Fatal(err)
				}
				decoded = append(decoded, v)
			}
			g := newGenerator(r, place{node: parsed.Root()}, decoded)
			// Indexes of values that ascend are used.
			sorted := g.places[0]
			if seed%2 == 1 {
				sorted = g.places[r.IntN(len(g.places))]
			}
			if class(sorted.node.Kind) < 4 {
				sort.Sort(&byField{sorted, rows, g.rows})
				g.places = append(g.places, sorted, sorted, sorted)
			}
			dir := t.TempDir()
			writeAvro(t, filepath.Join(dir, "in.avro"), schema, rows)
			convert(t, f, filepath.Join(dir, "in.avro"), filepath.Join(dir, "out"), settings{blockSize: 300, choices: map[string][]string{"values": {"id"}, "bloom-filter": {"id"}}})
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
				testenv.Must(t, err)
				var want [][]byte
				for i, row := range all {
					if p.truth(g.rows[i]) == yes {
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
