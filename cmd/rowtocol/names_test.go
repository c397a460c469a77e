package main

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format"
)

// namedFormatsAllowed are the places in which formats may be named: their own packages, the key
// index, whose files are of one format, and the list of those that the program has.
// The program's help may name them in its examples.
var namedFormatsAllowed = []string{"trevni/", "cfile/", "hfile/", "job/index/", "cmd/rowtocol/formats.go", "bench/", "e2e/"}

const programPath = "cmd/rowtocol/"

// namedFormsAllowed are the places in which a format may be named whose name is also that of a form
// in which cat writes rows: they mean the form.
var namedFormsAllowed = []string{"cmd/rowtocol/cat", "dataset/arrow/"}

// renamedFormat is a format that has another name.
type renamedFormat struct {
	format.Format
	name string
}

func (c renamedFormat) Name() string           { return c.name }
func (c renamedFormat) Suffix() string         { return "." + c.name }
func (c renamedFormat) Recognizes([]byte) bool { return true }

// namePattern matches what names one of some formats: words that begin with its name, in
// any case or capitalized inside an identifier, and its suffix.
func namePattern(formats format.Registry) *regexp.Regexp {
	alternatives := []string{`(?i:kudu)`} // whose format one is
	for _, f := range formats {
		name := f.Name()
		alternatives = append(alternatives, fmt.Sprintf(`\b(?i:%s)|%s(?i:%s)|(?i:%s\b)`,
			name, strings.ToUpper(name[:1]), name[1:], regexp.QuoteMeta(f.Suffix())))
	}
	return regexp.MustCompile(strings.Join(alternatives, "|"))
}

// Outside of its package nothing may depend on which format there is: another
// would have to be built into each such place. That of another may be the name of a form.
func TestFormatsAreNamedInTheirPackagesOnly(t *testing.T) {
	all := append(slices.Clone(formats), renamedFormat{name: "parquet"})
	isForm := func(f format.Format) bool { return slices.Contains(formatNames(), f.Name()) }
	formatName, elsewhere := namePattern(all), namePattern(slices.DeleteFunc(slices.Clone(all), isForm))
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../../"))
		if d.IsDir() && (name == "bin" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".html", ".js"}, filepath.Ext(name)) || isTest(name) || slices.ContainsFunc(namedFormatsAllowed, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		names := formatName
		if slices.ContainsFunc(namedFormsAllowed, func(p string) bool { return strings.HasPrefix(name, p) }) {
			names = elsewhere
		}
		found := namesIn(text, names)
		if filepath.Ext(name) != ".go" {
			found = names.FindAllString(string(text), -1)
		}
		if strings.HasPrefix(name, programPath) {
			found = slices.DeleteFunc(found, isProse)
		}
		for _, f := range found {
			t.Errorf("%s names a format: %s", name, f)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files looked at, %v", files, err)
	}
	found := namesIn([]byte(`package x; import "github.com/rowtocol/rowtocol/trevni"; // trevni
		var a, eachFile, cfileWriter, newHFile = ".trv", "part.cfiles", "inspect a.trv"`), formatName)
	if len(found) != 6 || len(slices.DeleteFunc(found, isProse)) != 5 {
		t.Errorf("found %q", found)
	}
}

// isProse tells text from what a program compares with: it has spaces.
func isProse(token string) bool { return strings.Contains(token, " ") }

// isTest reports whether a file is of tests only.
func isTest(name string) bool {
	dir := filepath.Base(filepath.Dir(name))
	return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(dir, "test") || strings.HasPrefix(name, "internal/")
}

// namesIn returns the identifiers and strings that have one of names. Comments may.
func namesIn(source []byte, names *regexp.Regexp) (found []string) {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", -1, len(source)), source, nil, 0)
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF {
			return found
		}
		if (tok == token.IDENT || tok == token.STRING) && names.MatchString(text) {
			found = append(found, text)
		}
	}
}
