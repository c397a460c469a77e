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

// named are the places in which formats may be named: their own packages, the
// list of those that the program has, examples in its help, and what reads the
// documents of a time when there was one format only.
var named = []string{
	"trevni/", "cmd/rowtocol/formats.go", "cmd/rowtocol/inspect.go", "cmd/rowtocol/schema.go", "cmd/rowtocol/verify.go",
	"manifest/version1.go", "bench/", "e2e/",
}

var formatName = regexp.MustCompile(`(?i)trevni|\.trv\b|\bcfile\b|\bhfile\b|\bparquet\.(Format|Writer)\b`)

// Outside of its package nothing may depend on which format there is: another
// would have to be built into each such place.
func TestNobodyNamesFormats(t *testing.T) {
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, "../"))
		if d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(name, ".go") || isTest(name) || slices.ContainsFunc(named, func(p string) bool { return strings.HasPrefix(name, p) }) {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, found := range namesIn(text) {
			t.Errorf("%s names a format: %s", name, found)
		}
		return nil
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files looked at, %v", files, err)
	}
	if found := namesIn([]byte(`package x; import "github.com/rowtocol/rowtocol/trevni"; // trevni` + "\n" + `var s = ".trv"`)); len(found) != 2 {
		t.Errorf("found %q", found)
	}
}

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
