package main

import (
	"go/format"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// inFunction puts lines into a function that returns an error.
func inFunction(lines string) string {
	return "package p\n\nfunc f() error {\n" + lines + "\n}\n"
}

func TestDisable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"call", "//guard: w\nf.Sync() // why\nreturn nil", "if false { f.Sync() } // why\nreturn nil"},
		{"assignment", "//guard: w\nerr = f.Sync()\nreturn err", "if false { err = f.Sync() }\nreturn err"},
		{"if", "//guard: w\nif n > limit {\nreturn bad\n}\nreturn nil", "if false { if n > limit {\nreturn bad\n} }\nreturn nil"},
		{"if with a declaration", "//guard: w\nif err := f(); err != nil {\nreturn err\n}", "if false { if err := f(); err != nil {\nreturn err\n} }"},
		{"if with a call", "//guard: w\nif err = f.Sync(); err != nil {\nreturn err\n}", "if false { if err = f.Sync(); err != nil {\nreturn err\n} }"},
		{"if that counts", "//guard: w\nif n++; n > limit {\nreturn bad\n}", "if n++; false && (n > limit) {\nreturn bad\n}"},
		{"if that adds", "//guard: w\nif n += len(b); n > limit {\nreturn bad\n}", "if n += len(b); false && (n > limit) {\nreturn bad\n}"},
		{"if with else", "//guard: w\nif a ||\nb {\nx()\n} else {\ny()\n}", "if false && (a ||\nb) {\nx()\n} else {\ny()\n}"},
		{"if with else if", "//guard: w\nif n := g(); n > 0 {\nx()\n} else if b {\ny()\n}", "if n := g(); false && (n > 0) {\nx()\n} else if b {\ny()\n}"},
		{"for", "//guard: w\nfor i < n {\ni++\n}", "if false { for i < n {\ni++\n} }"},
		{"range", "//guard: w\nfor _, f := range files {\nf.Close()\n}", "if false { for _, f := range files {\nf.Close()\n} }"},
		{"return", "//guard: w\nreturn f.Sync()", "if false { return f.Sync() }; return nil"},
		{"return in a function literal", "return all(func() (n int, err error) {\nreturn 0, nil\n}, func() error {\n//guard: w\nreturn f.Sync()\n})",
			"return all(func() (n int, err error) {\nreturn 0, nil\n}, func() error {\nif false { return f.Sync() }; return nil\n})"},
		{"case", "switch {\n//guard: w\ncase a > b, a < 0:\nx()\ncase c:\ny()\n}", "switch {\ncase false && (a > b), false && (a < 0):\nx()\ncase c:\ny()\n}"},
		{"first of two statements", "//guard: w\nif a {\nx()\n}\nif b {\ny()\n}", "if false { if a {\nx()\n} }\nif b {\ny()\n}"},
		{"outer statement only", "//guard: w\nrun(func() {\nx()\n})", "if false { run(func() {\nx()\n}) }"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			src := inFunction(test.in)
			found, err := findGuards("f.go", []byte(src))
			if err != nil || len(found) != 1 {
				t.Fatalf("%d guards, %v; want one", len(found), err)
			}
			g := found[0]
			if g.err != nil || g.why != "w" {
				t.Fatalf("why %q, %v", g.why, g.err)
			}
			got := strings.ReplaceAll(string(g.mutant), mark+" w\n", "")
			if want := inFunction(test.want); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if _, err := format.Source(g.mutant); err != nil {
				t.Errorf("the mutant is not Go: %v", err)
			}
			if a, b := strings.Count(src, "\n"), strings.Count(string(g.mutant), "\n"); a != b {
				t.Errorf("the mutant has %d lines, the original %d", b, a)
			}
		})
	}
}

func TestDisableParts(t *testing.T) {
	tests := []struct {
		name, in string
		want     []string
	}{
		{"no choice", "if a && b {\nx()\n}", nil},
		{"a choice", "if a || b || c {\nx()\n}", []string{
			"if false && (a) || b || c {\nx()\n}", "if a || false && (b) || c {\nx()\n}", "if a || b || false && (c) {\nx()\n}"}},
		{"with more", "if a && (b || c == d) {\nx()\n}", []string{
			"if a && (false && (b) || c == d) {\nx()\n}", "if a && (b || false && (c == d)) {\nx()\n}"}},
		{"on both sides", "if (a || b) && (c || d) || e && f {\nx()\n}", []string{
			"if (false && (a) || b) && (c || d) || e && f {\nx()\n}", "if (a || false && (b)) && (c || d) || e && f {\nx()\n}",
			"if (a || b) && (false && (c) || d) || e && f {\nx()\n}", "if (a || b) && (c || false && (d)) || e && f {\nx()\n}",
			"if (a || b) && (c || d) || false && (e && f) {\nx()\n}"}},
		{"a choice that is denied", "if !(a || b) {\nx()\n}", nil},
		{"a case", "switch {\n//guard: w\ncase a || b, c:\nx()\n}", []string{
			"switch {\ncase false && (a) || b, c:\nx()\n}", "switch {\ncase a || false && (b), c:\nx()\n}", "switch {\ncase a || b, false && (c):\nx()\n}"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			in := test.in
			if !strings.Contains(in, mark) {
				in = mark + " w\n" + in
			}
			found, err := findGuards("f.go", []byte(inFunction(in)))
			if err != nil || len(found) != 1 || found[0].err != nil {
				t.Fatalf("%+v, %v; want one guard", found, err)
			}
			var got, want []string
			for _, part := range found[0].parts {
				got = append(got, strings.ReplaceAll(string(part), mark+" w\n", ""))
			}
			for _, text := range test.want {
				want = append(want, inFunction(text))
			}
			if !slices.Equal(got, want) {
				t.Errorf("got\n%q\nwant\n%q", got, want)
			}
		})
	}
}

func TestDisableRefuses(t *testing.T) {
	tests := []struct{ name, src, want string }{
		{"no reason", inFunction("//guard:\nx()"), "does not say"},
		{"blanks for a reason", inFunction("//guard:  \nx()"), "does not say"},
		{"tests but no reason", inFunction("//guard: (tests: ./a)\nx()"), "does not say"},
		{"an empty list of tests", inFunction("//guard: w (tests: )\nx()"), "empty"},
		{"blank before guard", inFunction("// guard: w\nx()"), "is written"},
		{"written without a colon", inFunction("//guard w\nx()"), "is written"},
		{"written as a block", inFunction("/*guard: w*/\nx()"), "is written"},
		{"written as a block with a blank", inFunction("/* guard: w */\nx()"), "is written"},
		{"a case of a switch with a tag", inFunction("switch bad {\n//guard: w\ncase true:\nx()\n}"), "with a tag"},
		{"a case of a switch with a type", inFunction("switch v.(type) {\n//guard: w\ncase int:\nx()\n}"), "with a tag"},
		{"written with a capital", inFunction("//Guard: w\nx()"), "is written"},
		{"an empty line between", inFunction("//guard: w\n\nx()"), "no statement"},
		{"above a declaration", "package p\n\n//guard: w\nvar x = 1\n", "no statement"},
		{"above a function", "package p\n\n//guard: w\nfunc f() {\n}\n", "cannot be disabled"},
		{"on the statement's line", inFunction("x() //guard: w\nreturn nil"), "line of its own"},
		{"a declaration of variables", inFunction("//guard: w\nn := f()"), "declaration"},
		{"defer", inFunction("//guard: w\ndefer x()"), "DeferStmt"},
		{"a return of several values", "package p\n\nfunc f() (int, error) {\n//guard: w\nreturn 0, g()\n}\n", "one error"},
		{"a return of something else", "package p\n\nfunc f() int {\n//guard: w\nreturn g()\n}\n", "one error"},
		{"a return of nothing", "package p\n\nfunc f() {\n//guard: w\nreturn\n}\n", "one error"},
		{"default", inFunction("switch {\ncase a:\n//guard: w\ndefault:\nx()\n}"), "default"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			found, err := findGuards("f.go", []byte(test.src))
			if err != nil || len(found) != 1 {
				t.Fatalf("%d guards, %v; want one", len(found), err)
			}
			if err := found[0].err; err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want one with %q", err, test.want)
			}
		})
	}
}

func TestFindGuards(t *testing.T) {
	src := inFunction(`// A comment of its own about x, and then
//guard: x could be lost (tests: ./a ./b/c)
x()
// the guard: of y is not marked
// Guards of y are not, either.
y()
s := "//guard: not a comment"
//guard: z (the last one) could be lost
z(s)`)
	found, err := findGuards("f.go", []byte(src))
	testenv.Must(t, err)
	type facts struct {
		line int
		why  string
	}
	var got []facts
	for _, g := range found {
		if g.err != nil {
			t.Error(g.err)
		}
		got = append(got, facts{g.line, g.why})
	}
	want := []facts{{5, "x could be lost"}, {11, "z (the last one) could be lost"}}
	if !slices.Equal(got, want) {
		t.Fatalf("found %v, want %v", got, want)
	}
	if want := []string{"./a", "./b/c"}; !slices.Equal(found[0].tests, want) || found[1].tests != nil {
		t.Errorf("tests %q and %q, want %q and none", found[0].tests, found[1].tests, want)
	}
}

func TestFailedTest(t *testing.T) {
	tests := []struct{ name, output, want string }{
		{"a test", "--- FAIL: TestA (0.01s)\n    a_test.go:1: no\nFAIL\n", "TestA"},
		{"a subtest", "--- FAIL: TestA (0.01s)\n    --- FAIL: TestA/b (0.00s)\nFAIL\n", "TestA/b"},
		{"the first of two", "--- FAIL: TestA (0.01s)\n--- FAIL: TestB (0.00s)\nFAIL\n", "TestA"},
		{"a panic in a test", "--- FAIL: TestA (0.00s)\npanic: no [recovered]\n", "TestA"},
		{"no test", "fatal error: out of memory\n", "crashes"},
		{"a hang", "panic: test timed out after 2m0s\n\trunning tests:\n", "hangs"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := failedTest([]byte(test.output)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
