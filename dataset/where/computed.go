package where

import (
	"fmt"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/vm"
)

// computed is an operand that the expression library computes of fields.
type computed struct {
	program *vm.Program
	machine vm.VM
	fields  []*field
	names   []string // of the fields, as the program knows them
	env     map[string]any
	kind    kind
}

// functions are those of the library that make one simple value of others.
var functions = map[string]bool{
	"abs": true, "ceil": true, "floor": true, "round": true, "int": true, "float": true, "min": true, "max": true,
	"string": true, "lower": true, "upper": true, "trim": true, "trimPrefix": true, "trimSuffix": true,
	"replace": true, "len": true, "indexOf": true, "lastIndexOf": true, "hasPrefix": true, "hasSuffix": true,
}

// arithmetic are the operators of computed values.
var arithmetic = map[string]bool{"+": true, "-": true, "*": true, "/": true, "%": true, "**": true, "^": true}

// sample is a value of the type that the library sees for a kind.
func (k kind) sample() any {
	switch k {
	case kindBool:
		return false
	case kindInt:
		return 0
	case kindFloat:
		return 0.0
	default:
		return ""
	}
}

// compute compiles an expression in which fields have been given names.
func compute(n ast.Node, names []string, fields []*field) (*computed, error) {
	c := &computed{fields: fields, names: names, env: map[string]any{}}
	for i, f := range fields {
		c.env[names[i]] = f.kind.sample()
	}
	var err error
	if c.program, err = expr.Compile(n.String(), expr.Env(c.env)); err != nil {
		return nil, err
	}
	// What the type is, the values of one row tell as well as any other: the
	// fields' kinds decide it.
	node := c.program.Node()
	result, ok := kindOfType(node.Type().Kind().String())
	if !ok {
		return nil, fmt.Errorf("%s does not give a number, a text or a boolean", n)
	}
	c.kind = result
	return c, nil
}

func kindOfType(name string) (kind, bool) {
	switch name {
	case "bool":
		return kindBool, true
	case "int":
		return kindInt, true
	case "float64":
		return kindFloat, true
	case "string":
		return kindText, true
	}
	return 0, false
}

// value computes the operand's value in a row: null if a field is, or if it
// cannot be computed.
func (c *computed) value(row int) value {
	for i, f := range c.fields {
		v := f.value(row)
		switch v.kind {
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

// evaluate computes an expression without fields.
func evaluate(n ast.Node) (any, error) {
	program, err := expr.Compile(n.String())
	if err != nil {
		return nil, err
	}
	return expr.Run(program, nil)
}
