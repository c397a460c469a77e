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

// namedFormatsAllowed are the paths that may name formats: the formats' own packages, the key
// index and the tables, whose files have one format, and the program's list of formats.
var namedFormatsAllowed = []string{"trevni/", "cfile/", "hfile/", "parquet/", "job/index/", "cmd/rowtocol/formats.go", "cmd/rowtocol-iceberg/", "bench/", "e2e/"}

// programPath is the path of the program, whose help may name formats in its examples.
const programPath = "cmd/rowtocol/"

// namedFormsAllowed are the paths that may name an output form of cat that has the same name as
// a format.
var namedFormsAllowed = []string{"cmd/rowtocol/cat", "dataset/arrow/"}

// namePattern returns a pattern of words that name one of the formats: they begin with its name,
// in any case or capitalized inside an identifier, or end with its suffix.
func namePattern(formats format.Registry) *regexp.Regexp {
	alternatives := []string{`(?i:kudu)`} // CFiles are Kudu's format
	for _, f := range formats {
		name := f.Name()
		alternatives = append(alternatives, fmt.Sprintf(`\b(?i:%s)|%s(?i:%s)|(?i:%s\b)`,
			name, strings.ToUpper(name[:1]), name[1:], regexp.QuoteMeta(f.Suffix())))
	}
	return regexp.MustCompile(strings.Join(alternatives, "|"))
}

// TestFormatsAreNamedInTheirPackagesOnly checks that no other package depends on a particular
// format, because a new format would have to be added to each such place.
func TestFormatsAreNamedInTheirPackagesOnly(t *testing.T) {
	isForm := func(f format.Format) bool { return slices.Contains(formatNames(), f.Name()) }
	formatName, elsewhere := namePattern(formats), namePattern(slices.DeleteFunc(slices.Clone(formats), isForm))
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
		t.Fatalf("only %d files searched, %v", files, err)
	}
	found := namesIn([]byte(`package x; import "github.com/rowtocol/rowtocol/trevni"; // trevni
		var a, eachFile, cfileWriter, newHFile = ".trv", "part.cfiles", "inspect a.trv"`), formatName)
	if len(found) != 6 || len(slices.DeleteFunc(found, isProse)) != 5 {
		t.Errorf("found %q", found)
	}
}

// isProse reports whether a string is a text for people: it has spaces.
func isProse(token string) bool { return strings.Contains(token, " ") }

// isTest reports whether a file is of tests only.
func isTest(name string) bool {
	dir := filepath.Base(filepath.Dir(name))
	return strings.HasSuffix(name, "_test.go") || strings.HasSuffix(dir, "test") || strings.HasPrefix(name, "internal/")
}

// namesIn returns the identifiers and strings that match names. Comments may match.
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
