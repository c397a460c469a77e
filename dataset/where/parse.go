package where

import (
	"errors"
	"fmt"
	"strings"

	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/conf"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/parser"

	"github.com/rowtocol/rowtocol/shred"
)

// maxText bounds a condition's text, in bytes.
const maxText = 1 << 20

// language is what errors say about what is allowed.
const language = "allowed are fields, constants, comparisons, in [...], contains, startsWith, endsWith, matches, &&, ||, !, null, arithmetic and functions of simple values"

// translator turns the library's tree into conditions.
type translator struct {
	mapping *shred.Mapping
	fields  map[string]*field
	order   []*field
}

func parse(source string, m *shred.Mapping) (condition, []*field, error) {
	//guard: a condition of any size would be parsed
	if len(source) > maxText {
		return nil, nil, fmt.Errorf("a condition of %d bytes, at most %d are read", len(source), maxText)
	}
	tree, err := parser.ParseWithConfig(source, conf.CreateNew())
	if err != nil {
		return nil, nil, syntax(err)
	}
	t := &translator{mapping: m, fields: map[string]*field{}}
	c, err := t.condition(tree.Node)
	return c, t.order, err
}

// syntax puts the library's message, which draws the place, on one line.
func syntax(err error) error {
	var at *file.Error
	if !errors.As(err, &at) {
		return err
	}
	return fmt.Errorf("line %d, column %d: %s", at.Line, at.Column+1, at.Message)
}

func refused(n ast.Node, reason string, args ...any) error {
	return fmt.Errorf("%s: %s", n, fmt.Sprintf(reason, args...))
}

// condition translates what is true or false.
func (t *translator) condition(n ast.Node) (condition, error) {
	switch n := n.(type) {
	case *ast.UnaryNode:
		if n.Operator == "!" || n.Operator == "not" {
			c, err := t.condition(n.Node)
			return not{c}, err
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "&&", "and", "||", "or":
			return t.logic(n)
		case "==", "!=", "<", "<=", ">", ">=":
			return t.comparison(n)
		case "in":
			return t.in(n)
		case "contains", "startsWith", "endsWith", "matches":
			return t.search(n)
		}
	}
	operand, err := t.term(n)
	if err != nil {
		return nil, err
	}
	switch {
	case operand.kind != kindBool:
		return nil, refused(n, "is %s and no condition", operand.kind)
	case operand.constant != nil:
		return constant(operand.constant.i == 1), nil
	case operand.field != nil:
		return isTrue{operand.field}, nil
	}
	return tested{operand.computed, func(v *value) bool { return v.i == 1 }}, nil
}

func (t *translator) logic(n *ast.BinaryNode) (condition, error) {
	left, err := t.condition(n.Left)
	if err != nil {
		return nil, err
	}
	right, err := t.condition(n.Right)
	if err != nil {
		return nil, err
	}
	if n.Operator == "&&" || n.Operator == "and" {
		return and{left, right}, nil
	}
	return or{left, right}, nil
}

// term is one side of a comparison: exactly one of the pointers is set.
type term struct {
	kind     kind
	field    *field
	constant *value
	computed *computed
}

// operand returns the term's values, row by row.
func (t *term) operand() operand {
	switch {
	case t.field != nil:
		return t.field
	case t.constant != nil:
		return t.constant
	}
	return t.computed
}

// value makes a constant an operand.
func (v *value) value(int) value { return *v }

// term translates what has a value.
func (t *translator) term(n ast.Node) (*term, error) {
	if isNullLiteral(n) {
		return &term{constant: &value{}}, nil
	}
	if path, ok := fieldPath(n); ok {
		f, err := t.field(path)
		if err != nil {
			return nil, err
		}
		return &term{kind: f.kind, field: f}, nil
	}
	if !hasFields(n) {
		x, err := evaluate(n)
		if err != nil {
			return nil, refused(n, "%v", syntax(err))
		}
		v, ok := valueOf(x)
		if !ok {
			return nil, refused(n, "is of a type that is not compared; "+language)
		}
		return &term{kind: v.kind, constant: &v}, nil
	}
	return t.computed(n)
}

// computed translates what the library computes of fields, which get names
// that are words of its own language.
func (t *translator) computed(n ast.Node) (*term, error) {
	// A copy: 1 < x + 1 < 3 has one node in two places.
	before := n.String()
	tree, err := parser.ParseWithConfig(before, conf.CreateNew())
	if err != nil {
		return nil, fmt.Errorf("%s: %w", before, syntax(err))
	}
	n = tree.Node
	var names []string
	var fields []*field
	var visit func(n *ast.Node) error
	visit = func(n *ast.Node) error {
		if path, ok := fieldPath(*n); ok {
			f, err := t.field(path)
			if err != nil {
				return err
			}
			if f.kind == kindNull || f.kind == kindNone {
				return fmt.Errorf("field %s has no values to compute with", path)
			}
			name := fmt.Sprintf("field%d", len(fields))
			names, fields = append(names, name), append(fields, f)
			ast.Patch(n, &ast.IdentifierNode{Value: name})
			return nil
		}
		parts, err := computable(*n)
		for i := 0; err == nil && i < len(parts); i++ {
			err = visit(parts[i])
		}
		return err
	}
	if err := visit(&n); err != nil {
		return nil, err
	}
	c, err := compute(n, names, fields)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", before, syntax(err))
	}
	return &term{kind: c.kind, computed: c}, nil
}

// computable returns the parts of a node that the library may compute.
func computable(n ast.Node) ([]*ast.Node, error) {
	switch n := n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode, *ast.BoolNode:
		return nil, nil
	case *ast.UnaryNode:
		if n.Operator == "-" || n.Operator == "+" {
			return []*ast.Node{&n.Node}, nil
		}
	case *ast.BinaryNode:
		if arithmetic[n.Operator] {
			return []*ast.Node{&n.Left, &n.Right}, nil
		}
	case *ast.BuiltinNode:
		if functions[n.Name] {
			return pointers(n.Arguments), nil
		}
		return nil, fmt.Errorf("%s is no function of simple values", n.Name)
	case *ast.CallNode:
		if f, ok := n.Callee.(*ast.IdentifierNode); ok && functions[f.Value] {
			return pointers(n.Arguments), nil
		}
	}
	return nil, refused(n, "not in a condition; %s", language)
}

func pointers(nodes []ast.Node) []*ast.Node {
	p := make([]*ast.Node, len(nodes))
	for i := range nodes {
		p[i] = &nodes[i]
	}
	return p
}

// field returns the field of a path, the same one for the same path.
func (t *translator) field(path string) (*field, error) {
	if f := t.fields[path]; f != nil {
		return f, nil
	}
	leaf, err := t.mapping.Leaf(path)
	if err != nil {
		return nil, err
	}
	f := &field{path: path, kind: kindOf(leaf.Type), leaf: leaf}
	if leaf.Column >= 0 {
		f.name = t.mapping.Columns[leaf.Column].Name
	}
	t.fields[path] = f
	t.order = append(t.order, f)
	return f, nil
}

// isNullLiteral knows null by both of its names.
func isNullLiteral(n ast.Node) bool {
	if id, ok := n.(*ast.IdentifierNode); ok {
		return id.Value == "null"
	}
	_, ok := n.(*ast.NilNode)
	return ok
}

// environment is the name under which the library knows all fields.
const environment = "$env"

// fieldPath returns the path that names with dots between them make.
func fieldPath(n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.IdentifierNode:
		return n.Value, n.Value != "null" && n.Value != environment
	case *ast.ChainNode:
		return fieldPath(n.Node)
	case *ast.MemberNode:
		name, ok := n.Property.(*ast.StringNode)
		if !ok {
			return "", false
		}
		if id, ok := n.Node.(*ast.IdentifierNode); ok && id.Value == environment {
			return name.Value, true
		}
		path, ok := fieldPath(n.Node)
		return path + "." + name.Value, ok
	}
	return "", false
}

// hasFields tells whether a node names fields.
func hasFields(n ast.Node) bool {
	var v finder
	ast.Walk(&n, &v)
	return v.found
}

type finder struct{ found bool }

// Visit implements ast.Visitor.
func (f *finder) Visit(n *ast.Node) {
	if id, ok := (*n).(*ast.IdentifierNode); ok && id.Value != "null" {
		f.found = f.found || !strings.HasPrefix(id.Value, "#")
	}
}
