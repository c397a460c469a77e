package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
)

var update = flag.Bool("update", false, "add new promises to "+stableFile)

const stableFile = "testdata/stable.txt"

// TestStable checks that no promised command, flag, field or exit code is missing or has
// changed, because scripts depend on them.
func TestStable(t *testing.T) {
	there := map[string]bool{}
	root := rowtocolProgram.Root()
	addFlags(there, root, "")
	for name, v := range map[string]any{
		"_SUCCESS": manifest.Success{}, "plan": manifest.Plan{}, "--json": cli.Ending{},
		"convert --json": converted{}, "submit --json": submitted{}, "plan --json": planned{}, "task --json": tasksDone{}, "verify --json": verified{},
		"cat --json": catted{}, "count --json": counted{}, "stats --json": summed{}, "inspect --json": inspected{}, "version --json": cli.Build{},
	} {
		addFields(there, name, reflect.TypeOf(v), nil)
	}
	for _, e := range cli.Exits {
		for code := range strings.SplitSeq(e.Label(), ", ") {
			there["exit "+code+" "+e.Name()] = true
		}
	}
	promised := map[string]bool{}
	for line := range strings.Lines(string(read(t, stableFile))) {
		promised[strings.TrimSpace(line)] = true
	}
	if *update {
		maps.Copy(promised, there)
		write(t, stableFile, []byte(strings.Join(slices.Sorted(maps.Keys(promised)), "\n")+"\n"))
	}
	for line := range promised {
		if !there[line] {
			t.Errorf("this promise is broken: %s", line)
		}
	}
	if len(promised) < 300 {
		t.Errorf("only %d promises found", len(promised))
	}
}

// addFlags adds the flags of a command and its subcommands.
func addFlags(to map[string]bool, cmd *cobra.Command, path string) {
	to[strings.TrimSpace("command "+path)] = true
	cmd.Flags().VisitAll(func(f *pflag.Flag) { to[fmt.Sprintf("flag %s --%s %s", path, f.Name, f.Value.Type())] = true })
	cmd.PersistentFlags().VisitAll(func(f *pflag.Flag) { to[fmt.Sprintf("flag %s --%s %s", path, f.Name, f.Value.Type())] = true })
	for _, sub := range cmd.Commands() {
		addFlags(to, sub, strings.TrimSpace(path+" "+sub.Name()))
	}
}

// addFields adds the JSON fields of a type, with their kinds.
func addFields(to map[string]bool, path string, t reflect.Type, above []reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t.PkgPath() == "time" || slices.Contains(above, t) {
		return
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			addFields(to, path, f.Type, append(above, t))
		case f.IsExported() && name != "-" && name != "":
			to[fmt.Sprintf("field %s .%s %s", path, name, jsonKind(f.Type))] = true
			addFields(to, path+" ."+name, f.Type, append(above, t))
		}
	}
}

// jsonKind returns the kind of JSON value that a Go type becomes.
func jsonKind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Pointer:
		return jsonKind(t.Elem())
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "string"
	case reflect.Slice, reflect.Array:
		if t == reflect.TypeFor[json.RawMessage]() {
			return "any"
		}
		return "array"
	case reflect.Map:
		return "object"
	case reflect.Struct:
		if t.PkgPath() == "time" {
			return "string"
		}
		return "object"
	case reflect.Interface:
		return "any"
	}
	return "number"
}

// TestNewerDocuments reads documents of a newer program.
func TestNewerDocuments(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 30)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "plan", "a.avro", "planned", "-o", "plan.json").want(t, 0)
	change := func(name, by string) {
		const version = `"version": 2,`
		text := string(read(t, filepath.Join(dir, name)))
		if !strings.Contains(text, version) {
			t.Fatalf("%s lacks %s", name, version)
		}
		write(t, filepath.Join(dir, name), manifesttest.Seal([]byte(strings.Replace(text, version, by, 1))))
	}
	const more = `"version": 2, "colour": {"red": 1},`
	change("out/_SUCCESS", more)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0, "nothing to do")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro", "--require-complete").want(t, 0)
	rowtocol(t, dir, nil, "count", "out").want(t, 0, "30")
	change("plan.json", more)
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "0").want(t, 9, "a newer program made it")
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 9, "a newer program made it")

	for name, by := range map[string]string{"out/_SUCCESS": `"version": 3,`, "plan.json": `"version": 3,`} {
		change(name, by)
	}
	before := fileSums(t, dir+"/out")
	for _, args := range [][]string{{"count", "out"}, {"verify", "out"}, {"inspect", "out"}, {"schema", "out"}} {
		rowtocol(t, dir, nil, args...).want(t, 3, "it has 3, this program knows 2")
	}
	for _, args := range [][]string{
		{"convert", "a.avro", "out"}, {"convert", "--overwrite", "a.avro", "out"},
		{"task", "--plan", "plan.json", "--task", "0"}, {"commit", "--plan", "plan.json"},
	} {
		rowtocol(t, dir, nil, args...).want(t, 9, "it has 3, this program knows 2")
	}
	wantUnchanged(t, dir+"/out", before)
}
