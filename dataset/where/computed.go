package where

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/vm"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// computed is an operand that the expression library computes from fields.
type computed struct {
	program *vm.Program
	machine vm.VM
	fields  []*field
	names   []string // names of the fields in the program
	env     map[string]any
	kind    kind
}

// functions are the library's functions that compute one simple value from simple values, by
// their names in lower case.
var functions = map[string]string{
	"abs": "abs", "ceil": "ceil", "floor": "floor", "round": "round", "int": "int", "float": "float", "min": "min", "max": "max",
	"string": "string", "lower": "lower", "upper": "upper", "trim": "trim", "trimprefix": "trimPrefix", "trimsuffix": "trimSuffix",
	"replace": "replace", "len": "len", "length": "len", "indexof": "indexOf", "lastindexof": "lastIndexOf",
	"hasprefix": "hasPrefix", "hassuffix": "hasSuffix",
}

// constantFunctions are the functions that only accept constants.
var constantFunctions = map[string]string{"date": "date", "now": "now", "duration": "duration"}

// writer writes a node in the library's language. Fields, and constants without a literal in
// that language, get names.
type writer struct {
	*translator
	strings.Builder
	fields []*field
	names  []string
	env    map[string]any
}

// sample returns a value of the Go type that values of a kind have in the library.
func (k kind) sample() any {
	switch k {
	case kindBool:
		return false
	case kindInt:
		return 0
	case kindFloat:
		return 0.0
	}
	return ""
}

// name names a value that has no literal in the library.
func (w *writer) name(v any) string {
	name := fmt.Sprintf("value%d", len(w.env))
	w.env[name] = v
	w.WriteString(name)
	return name
}

func (w *writer) write(n *node) error {
	switch n.op {
	case opConst:
		return w.constant(n)
	case opPath:
		x, err := w.single(n)
		if err != nil {
			return err
		}
		if x.kind == kindDecimal {
			return w.refused(n, "%s is a decimal, which is only compared: computing with it would not be exact", w.quote(n))
		}
		w.fields = append(w.fields, x.field)
		w.names = append(w.names, w.name(x.kind.computed().sample()))
		return nil
	case opUnary:
		w.WriteString("(" + n.text)
		defer w.WriteString(")")
		return w.write(n.kids[0])
	case opBinary:
		return w.list(n, "(", " "+n.text+" ")
	case opCall:
		name := functions[strings.ToLower(n.text)]
		if name == "" {
			name = constantFunctions[strings.ToLower(n.text)]
			if name == "" || n.hasFields() {
				return w.unknown(n)
			}
		}
		if name == "len" && len(n.kids) == 1 && n.kids[0].op == opPath {
			if x, err := w.term(n.kids[0]); err == nil && x.kind == kindGroup && x.field.place.Type().Kind != shred.KindRecord {
				return w.refused(n, "len takes a text; any(%s, true) holds if there are items", w.quote(n.kids[0]))
			}
		}
		//guard: refuses min and max of one value
		if (name == "min" || name == "max") && len(n.kids) < 2 {
			return w.refused(n, "%s takes several values of a row; rowtocol stats computes it for all rows", n.text)
		}
		return w.list(n, name+"(", ", ")
	}
	return w.refused(n, "this is a condition, but a value is expected; join conditions with and, or, not")
}

// list writes the children of a node, with a separator.
func (w *writer) list(n *node, open, separator string) error {
	w.WriteString(open)
	defer w.WriteString(")")
	for i, k := range n.kids {
		if i > 0 {
			w.WriteString(separator)
		}
		if err := w.write(k); err != nil {
			return err
		}
	}
	return nil
}

// unknown returns the error for an unknown function.
func (w *writer) unknown(n *node) error {
	if constantFunctions[strings.ToLower(n.text)] != "" {
		return w.refused(n, "%s takes constants only", n.text)
	}
	return w.refused(n, "there is no function %s; there are any abs ceil floor round int float min max string lower upper trim trimPrefix trimSuffix replace len indexOf lastIndexOf hasPrefix hasSuffix date now duration", n.text)
}

func (w *writer) constant(n *node) error {
	switch v := n.value; v.kind {
	case kindNull:
		return w.refused(n, "null has no value to compute with")
	case kindBool:
		w.WriteString(strconv.FormatBool(v.i == 1))
	case kindInt:
		if v.i == math.MinInt64 {
			w.name(math.MinInt64)
		} else {
			fmt.Fprintf(w, "(%d)", v.i)
		}
	case kindFloat, kindNumber:
		f, _ := v.rational().Float64()
		if math.IsInf(f, 0) {
			return w.refused(n, "%s is beyond the numbers of 64 bits", w.quote(n))
		}
		w.WriteString("(" + strconv.FormatFloat(f, 'e', -1, 64) + ")")
	case kindMoment:
		w.name(v.t)
	default:
		w.name(string(v.s))
	}
	return nil
}

// compile makes a program of a node, and returns the kind of its value.
func (t *translator) compile(n *node) (*writer, *vm.Program, kind, error) {
	w := &writer{translator: t, env: map[string]any{}}
	if err := w.write(n); err != nil {
		return nil, nil, 0, err
	}
	program, err := expr.Compile(w.String(), expr.Env(w.env))
	if err != nil {
		return nil, nil, 0, t.explain(n)
	}
	switch typ := program.Node().Type(); typ.String() {
	case "bool":
		return w, program, kindBool, nil
	case "int":
		return w, program, kindInt, nil
	case "float64":
		return w, program, kindFloat, nil
	case "string":
		return w, program, kindText, nil
	case "time.Time":
		return w, program, kindMoment, nil
	}
	return w, program, kindNull, nil
}

// explain returns the error for a node that the library cannot compile. The error is about the
// innermost part that fails.
func (t *translator) explain(n *node) error {
	var kinds []string
	for _, k := range n.kids {
		_, _, kind, err := t.compile(k)
		if err != nil {
			return err
		}
		name := kind.String()
		if kind == kindNull {
			name = "a value of another kind"
		}
		kinds = append(kinds, name)
	}
	if len(kinds) == 0 {
		kinds = []string{"nothing"}
	}
	return t.refused(n, "%s does not take %s", n.text, strings.Join(kinds, " and "))
}

// computed translates an expression that the library computes from fields.
func (t *translator) computed(n *node) (*term, error) {
	w, program, kind, err := t.compile(n)
	if err != nil {
		return nil, err
	}
	if kind == kindNull || kind == kindMoment {
		return nil, t.refused(n, "%s is not a number, a text or a boolean, and cannot be compared", t.quote(n))
	}
	unit, err := t.unit(n)
	if err != nil {
		return nil, err
	}
	c := &computed{program: program, fields: w.fields, names: w.names, env: w.env, kind: kind}
	return &term{node: n, kind: kind, computed: c, unit: unit}, nil
}

// value computes the operand's value in a row. The value is null if a field is null, or if the
// value cannot be computed.
func (c *computed) value(row int) value {
	for i, f := range c.fields {
		v := f.value(row)
		switch v.kind.computed() {
		case kindNull:
			return value{}
		case kindBool:
			c.env[c.names[i]] = v.i == 1
		case kindInt:
			c.env[c.names[i]] = int(v.i)
		case kindFloat:
			c.env[c.names[i]] = v.f
		default:
			c.env[c.names[i]] = string(v.s)
		}
	}
	x, err := c.machine.Run(c.program, c.env)
	if err != nil {
		return value{}
	}
	v, ok := valueOf(x)
	if !ok || v.kind != c.kind {
		return value{}
	}
	return v
}

// bareDate matches a date without quotes. bareMonth matches a year and a month without quotes
// that can only be meant as a date.
var (
	bareDate  = lazyregexp.New(`^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}$`)
	bareMonth = lazyregexp.New(`^[0-9]{4}-[0-9]{2}$`)
)

// subtraction returns the error for a date without quotes.
func (t *translator) subtraction(n *node, date string) error {
	return t.refused(n, "%s is a subtraction; write '%s', in double quotes where single ones are the shell's", t.source(n), date)
}

// evaluate computes an expression without fields.
func (t *translator) evaluate(n *node) (*value, error) {
	//guard: refuses a date whose quotes the shell removed
	if bareDate.MatchString(t.source(n)) {
		return nil, t.subtraction(n, t.source(n))
	}
	w, program, _, err := t.compile(n)
	if err != nil {
		return nil, err
	}
	x, err := expr.Run(program, w.env)
	if err != nil {
		for _, k := range n.kids {
			if w, program, _, err := t.compile(k); err == nil {
				if _, err := expr.Run(program, w.env); err != nil {
					return t.evaluate(k)
				}
			}
		}
		return nil, t.refused(n, "%s cannot be computed%s", t.quote(n), dateHint(n))
	}
	v, ok := valueOf(x)
	if !ok {
		if _, is := x.(time.Duration); is {
			return nil, t.refused(n, "%s is a duration; add it to a date, or take it from one", t.quote(n))
		}
		return nil, t.refused(n, "%s is not a number, a text, a boolean or a date, and cannot be compared", t.quote(n))
	}
	return &v, nil
}

func dateHint(n *node) string {
	switch strings.ToLower(n.text) {
	case "date":
		return `; write date("2025-01-31") or date("2025-01-31T12:00:00Z")`
	case "duration":
		return `; write duration("90m"), of hours, minutes and seconds`
	}
	return ""
}
