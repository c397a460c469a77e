package format_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// named are the places in which formats may be named: their own packages, the key
// index, whose files are of one format, and the list of those that the program has.
// The program's help may name them in its examples.
var named = []string{"trevni/", "cfile/", "hfile/", "job/index/", "cmd/rowtocol/formats.go", "bench/", "e2e/"}

const help = "cmd/rowtocol/"

var formatName = regexp.MustCompile(`(?i:trevni|\.trv\b|kudu|\bcfile|\bhfile)|CFile|HFile`)

// Outside of its package nothing may depend on which format there is: another
// would have to be built into each such place.
func TestNobodyNamesFormats(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		if d.IsDir() && (name == "bin" || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return fs.SkipDir
		}
		if !slices.Contains([]string{".go", ".html", ".js"}, filepath.Ext(name)) || isTest(name) || slices.ContainsFunc(named, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		found := namesIn(text)
		if filepath.Ext(name) != ".go" {
			found = formatName.FindAllString(string(text), -1)
		}
		if strings.HasPrefix(name, help) {
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
		var a, eachFile, cfileWriter, newHFile = ".trv", "part.cfiles", "inspect a.trv"`))
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

// namesIn returns the identifiers and strings that name a format. Comments may.
func namesIn(source []byte) (found []string) {
	var s scanner.Scanner
	files := token.NewFileSet()
	s.Init(files.AddFile("", -1, len(source)), source, nil, 0)
	for {
		_, tok, text := s.Scan()
		if tok == token.EOF {
			return found
		}
		if (tok == token.IDENT || tok == token.STRING) && formatName.MatchString(text) {
			found = append(found, text)
		}
	}
}
