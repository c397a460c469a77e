package main

import (
	"bytes"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/internal/cli"
)

const pythonHead = `"""%s

TestPython of cmd/rowtocol wrote this file: change the program, and run
go test ./cmd/rowtocol -run TestPython -update.
"""

from __future__ import annotations

`

// inPython lists the commands that the Python package has as functions, with the types of their
// results.
var inPython = []struct {
	command string
	results []any
}{
	{"convert", []any{converted{}, partitioned{}}}, {"submit", []any{submitted{}, submittedPartitions{}}},
	{"plan", []any{planned{}}}, {"task", []any{tasksDone{}}}, {"commit", []any{converted{}}},
	{"verify", []any{verified{}}}, {"status", []any{statusOf{}}},
}

// notInPython lists flags that the package sets itself, or that are arguments of its functions.
var notInPython = []string{"help", "json", "log-format", "progress-every", "input", "dest", "plan", "dry-run"}

// TestPython checks that the Python package knows exactly the flags and the results of the program.
func TestPython(t *testing.T) {
	for name, text := range map[string]string{"_options.py": pythonOptions(), "_results.py": pythonResults()} {
		name = "../../python/src/rowtocol/" + name
		if *update {
			write(t, name, []byte(text))
		}
		if !bytes.Equal(read(t, name), []byte(text)) {
			t.Errorf("%s is not what the program has: run this test with -update", name)
		}
	}
}

// pythonOptions returns a module that has a class for the flags of each command.
func pythonOptions() string {
	var s strings.Builder
	fmt.Fprintf(&s, pythonHead, "The flags of the program as keyword arguments, for editors, type checkers and help.")
	s.WriteString("import os\nfrom collections.abc import Sequence\nfrom datetime import date, timedelta\nfrom typing import TypedDict\n")
	root := rowtocolProgram.Root()
	common := root.PersistentFlags()
	pythonClass(&s, "OpenOptions", "TypedDict, total=False", "The flags of all commands.", common, &pflag.FlagSet{})
	for _, c := range inPython {
		cmd, _, err := root.Find([]string{c.command})
		if err != nil {
			panic(err) // the command is in the list of the program
		}
		pythonClass(&s, pythonName(c.command)+"Options", "OpenOptions, total=False", "The flags of rowtocol "+c.command+".", cmd.Flags(), common)
	}
	return s.String()
}

// pythonClass writes the class for flags. Flags that the base has are left out, but are explained if
// the command gives them a meaning of its own.
func pythonClass(s *strings.Builder, name, base, doc string, flags, ofBase *pflag.FlagSet) {
	var fields, help strings.Builder
	flags.VisitAll(func(f *pflag.Flag) {
		inherited := ofBase.Lookup(f.Name)
		if slices.Contains(notInPython, f.Name) || inherited != nil && inherited.Usage == f.Usage {
			return
		}
		key := strings.ReplaceAll(f.Name, "-", "_")
		what, usage := pflag.UnquoteUsage(f)
		usage = strings.ReplaceAll(usage, `\`, `\\`)
		if inherited == nil {
			fmt.Fprintf(&fields, "    %s: %s\n", key, pythonType(f.Value.Type(), what))
		}
		fmt.Fprintf(&help, "    %s: %s\n", key, cli.Wrap(usage, 100, "        "))
	})
	fmt.Fprintf(s, "\n\nclass %s(%s):\n    \"\"\"%s\n\n%s    \"\"\"\n\n%s", name, base, doc, help.String(), fields.String())
}

// pythonName returns the beginning of the names of the classes of a command.
func pythonName(command string) string { return strings.ToUpper(command[:1]) + command[1:] }

// pythonType returns the type of a keyword argument, from the type of a flag and the name of its
// value.
func pythonType(flag, value string) string {
	switch flag {
	case "bool":
		return "bool"
	case "int", "int64":
		return "int"
	case "intSlice":
		return "int | Sequence[int]"
	case "size":
		return "str | int"
	case "duration":
		return "str | timedelta"
	case "time":
		return "str | date"
	case "stringArray":
		return "str | Sequence[str]"
	}
	if value == "file" || value == "directory" {
		return "str | os.PathLike[str]"
	}
	return "str"
}

// pythonResults returns a module that has a class for the result of each command.
func pythonResults() string {
	var s strings.Builder
	fmt.Fprintf(&s, pythonHead, "The results of the program's commands: the fields of the JSON object of --json.")
	s.WriteString(`from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Result:
    """What all results have. raw is the whole JSON object."""

    run: str
    command: str
    exit: int
    status: str
    raw: dict[str, Any] = field(repr=False)
`)
	for _, c := range inPython {
		fields := map[string]string{}
		for _, r := range c.results {
			addPythonFields(fields, reflect.TypeOf(r))
		}
		fmt.Fprintf(&s, "\n\n@dataclass(frozen=True)\nclass %sResult(Result):\n    \"\"\"The result of rowtocol %s.\"\"\"\n\n", pythonName(c.command), c.command)
		for _, name := range slices.Sorted(maps.Keys(fields)) {
			fmt.Fprintf(&s, "    %s: %s\n", name, fields[name])
		}
	}
	return s.String()
}

// addPythonFields adds the fields of a JSON object, with their types and zero values in Python.
func addPythonFields(to map[string]string, t reflect.Type) {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, more, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			addPythonFields(to, f.Type)
		case f.IsExported() && name != "" && name != "-":
			to[name] = pythonField(f.Type, f.Type.Kind() == reflect.Pointer || more != "" && f.Type.Kind() != reflect.Bool)
		}
	}
}

func pythonField(t reflect.Type, optional bool) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind, zero := "Any", "None"
	switch jsonKind(t) {
	case "boolean":
		kind, zero = "bool", "False"
	case "string":
		kind, zero = "str", `""`
	case "number":
		kind, zero = "int", "0"
		if t.Kind() == reflect.Float64 {
			kind, zero = "float", "0.0"
		}
	case "object":
		kind, zero = "dict[str, Any]", "field(default_factory=dict)"
	case "array":
		item, _, _ := strings.Cut(pythonField(t.Elem(), false), " =")
		kind, zero = "list["+item+"]", "field(default_factory=list, repr=False)"
	}
	if optional && kind != "Any" && !strings.HasPrefix(kind, "list") {
		return kind + " | None = None"
	}
	return kind + " = " + zero
}
