package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strings"
)

// guard is a marked guard in a file.
type guard struct {
	file  string // as passed to findGuards
	line  int    // of the mark
	why   string // what the guard does
	tests []string
	// mutant is the file's text with this guard disabled. If there is none, err says
	// why.
	mutant []byte
	err    error
	// parts are the texts with one alternative of the guard's condition disabled, if
	// it has several.
	parts [][]byte
}

const mark = "//guard:"

var (
	nearMark  = regexp.MustCompile(`^(//|/\*)((?i:guards?)\b|\s*(?i:guards?)\s*:)`)
	testsList = regexp.MustCompile(`\s*\(tests:([^()]*)\)$`)
)

// findGuards returns the marked guards of a file in order.
func findGuards(file string, src []byte) ([]guard, error) {
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []guard
	for _, group := range tree.Comments {
		for _, c := range group.List {
			if !nearMark.MatchString(c.Text) {
				continue
			}
			g := guard{file: file, line: fset.Position(c.Pos()).Line}
			g.err = g.parse(c.Text)
			if g.err == nil && !aloneOnLine(fset, src, c) {
				g.err = errors.New("the mark is not on a line of its own")
			}
			if g.err == nil {
				g.mutant, g.err = disable(fset, tree, src, g.line+1)
			}
			if g.err == nil {
				g.parts = disableParts(fset, tree, src, g.line+1)
			}
			found = append(found, g)
		}
	}
	return found, nil
}

// parse parses the text of a mark.
func (g *guard) parse(comment string) error {
	text, ok := strings.CutPrefix(comment, mark)
	if !ok {
		return fmt.Errorf("a mark is written %q", mark)
	}
	if m := testsList.FindStringSubmatchIndex(text); m != nil {
		g.tests = strings.Fields(text[m[2]:m[3]])
		text = text[:m[0]]
		if len(g.tests) == 0 {
			return errors.New("the mark's list of tests is empty")
		}
	}
	g.why = strings.TrimSpace(text)
	if g.why == "" {
		return errors.New("the mark does not say what the guard does")
	}
	return nil
}

func aloneOnLine(fset *token.FileSet, src []byte, c *ast.Comment) bool {
	before := src[:fset.Position(c.Pos()).Offset]
	return len(bytes.TrimSpace(before[bytes.LastIndexByte(before, '\n')+1:])) == 0
}

// disable returns the text without the effect of the statement that begins on a line. It
// moves no line.
func disable(fset *token.FileSet, tree *ast.File, src []byte, line int) ([]byte, error) {
	stmt, results := statementAt(fset, tree, line)
	if stmt == nil {
		return nil, errors.New("no statement begins on the line below the mark")
	}
	e := editor{fset: fset, src: src}
	switch s := stmt.(type) {
	case *ast.AssignStmt:
		if s.Tok == token.DEFINE {
			return nil, errors.New("a declaration cannot be disabled")
		}
		e.wrap(s, "if false { ", " }")
	case *ast.ExprStmt, *ast.ForStmt, *ast.RangeStmt:
		e.wrap(s, "if false { ", " }")
	case *ast.IfStmt:
		if s.Else == nil && !hasSideEffect(s.Init) {
			e.wrap(s, "if false { ", " }")
		} else {
			e.wrap(s.Cond, "false && (", ")")
		}
	case *ast.ReturnStmt:
		if len(s.Results) != 1 || !isError(results) {
			return nil, errors.New("only a return of one error can be disabled")
		}
		e.wrap(s, "if false { ", " }; return nil")
	case *ast.CaseClause:
		if hasTag(tree, s) {
			return nil, errors.New("a case of a switch with a tag cannot be disabled")
		}
		if len(s.List) == 0 {
			return nil, errors.New("a default clause cannot be disabled")
		}
		for _, expr := range s.List {
			e.wrap(expr, "false && (", ")")
		}
	default:
		return nil, fmt.Errorf("a statement of this kind (%T) cannot be disabled", stmt)
	}
	return e.text(), nil
}

// disableParts returns a text for each alternative of the condition of an if or a case,
// with only that alternative disabled. It returns none if there is only one.
func disableParts(fset *token.FileSet, tree *ast.File, src []byte, line int) [][]byte {
	var parts []ast.Expr
	switch stmt, _ := statementAt(fset, tree, line); s := stmt.(type) {
	case *ast.IfStmt:
		parts = alternatives(s.Cond)
	case *ast.CaseClause:
		for _, expr := range s.List {
			parts = append(parts, alternatives(expr)...)
		}
	}
	if len(parts) < 2 {
		return nil
	}
	var mutants [][]byte
	for _, part := range parts {
		e := editor{fset: fset, src: src}
		e.wrap(part, "false && (", ")")
		mutants = append(mutants, e.text())
	}
	return mutants
}

// alternatives returns the operands of || in a condition, in order, including those
// within parentheses. If there are none, it returns the condition.
func alternatives(condition ast.Expr) []ast.Expr {
	switch c := condition.(type) {
	case *ast.ParenExpr:
		if inner := alternatives(c.X); len(inner) > 1 {
			return inner
		}
	case *ast.BinaryExpr:
		x, y := alternatives(c.X), alternatives(c.Y)
		switch {
		case c.Op == token.LOR:
			return append(x, y...)
		case c.Op == token.LAND && len(x) > 1 && len(y) > 1:
			return append(x, y...)
		case c.Op == token.LAND && len(x) > 1:
			return x
		case c.Op == token.LAND && len(y) > 1:
			return y
		}
	}
	return []ast.Expr{condition}
}

// hasSideEffect reports whether the first part of an if changes a value that later code
// uses, as n++ does, and is not the call that the if checks.
func hasSideEffect(init ast.Stmt) bool {
	switch s := init.(type) {
	case *ast.IncDecStmt:
		return true
	case *ast.AssignStmt:
		_, calls := s.Rhs[0].(*ast.CallExpr)
		return s.Tok != token.DEFINE && (s.Tok != token.ASSIGN || !calls)
	}
	return false
}

// statementAt returns the first statement that begins on a line, and the results of the
// function around it.
func statementAt(fset *token.FileSet, tree *ast.File, line int) (ast.Stmt, *ast.FieldList) {
	var (
		found   ast.Stmt
		results *ast.FieldList
		search  func(n ast.Node, around *ast.FieldList)
	)
	search = func(n ast.Node, around *ast.FieldList) {
		ast.Inspect(n, func(child ast.Node) bool {
			if found != nil {
				return false
			}
			switch c := child.(type) {
			case *ast.FuncDecl:
				if c.Body != nil {
					search(c.Body, c.Type.Results)
				}
				return false
			case *ast.FuncLit:
				search(c.Body, c.Type.Results)
				return false
			case ast.Stmt:
				if fset.Position(c.Pos()).Line == line {
					found, results = c, around
					return false
				}
			}
			return true
		})
	}
	search(tree, nil)
	return found, results
}

// hasTag reports whether a case belongs to a switch on a value or a type.
func hasTag(tree *ast.File, clause *ast.CaseClause) (tag bool) {
	ast.Inspect(tree, func(n ast.Node) bool {
		switch s := n.(type) {
		case *ast.SwitchStmt:
			tag = tag || s.Tag != nil && slices.Contains(s.Body.List, ast.Stmt(clause))
		case *ast.TypeSwitchStmt:
			tag = tag || slices.Contains(s.Body.List, ast.Stmt(clause))
		}
		return !tag
	})
	return tag
}

// isError reports whether a function with these results returns one error.
func isError(results *ast.FieldList) bool {
	if results.NumFields() != 1 {
		return false
	}
	name, ok := results.List[0].Type.(*ast.Ident)
	return ok && name.Name == "error"
}

// editor inserts text around nodes, in the order of the source.
type editor struct {
	fset *token.FileSet
	src  []byte
	out  []byte
	done int // bytes of src that are in out
}

func (e *editor) wrap(n ast.Node, before, after string) {
	e.copyTo(n.Pos())
	e.out = append(e.out, before...)
	e.copyTo(n.End())
	e.out = append(e.out, after...)
}

func (e *editor) copyTo(pos token.Pos) {
	offset := e.fset.Position(pos).Offset
	e.out = append(e.out, e.src[e.done:offset]...)
	e.done = offset
}

func (e *editor) text() []byte {
	return append(e.out, e.src[e.done:]...)
}
