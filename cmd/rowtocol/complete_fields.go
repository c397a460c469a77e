package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/plan"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// completionLimit bounds the time for reading a schema while a shell waits.
	completionLimit = 2 * time.Second
	// completionDepth bounds the records in records whose fields are completed.
	completionDepth = 6
	// completionFiles bounds the files that are opened to find one with a schema.
	completionFiles = 8
)

// completeFields makes shells complete the fields of a flag's value, which commas separate. named
// returns the locations of the rows, given the arguments. simple is whether the fields are those of
// a key. Files on local disk alone are read: a shell must not wait for a cluster.
func completeFields(cmd *cobra.Command, flag string, simple bool, named func(args []string) []string) {
	err := cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionLimit)
		defer cancel()
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		var values []string
		for _, path := range fieldsOf(ctx, named(args), simple) {
			if !slices.Contains(strings.Split(before, ","), path) {
				values = append(values, before+path)
			}
		}
		return values, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
	if err != nil {
		panic(err) // the flag is not defined
	}
}

// fieldsOf returns the paths of the fields of the rows at the first location that has a schema.
func fieldsOf(ctx context.Context, names []string, simple bool) []string {
	for _, name := range names {
		schema, err := shred.ParseSchema(schemaAt(ctx, name))
		if err != nil {
			continue
		}
		paths := fieldPaths("", schema.Root(), completionDepth)
		return slices.DeleteFunc(paths, func(path string) bool {
			_, err := rowkey.Parse(schema, path)
			return simple && err != nil
		})
	}
	return nil
}

// schemaAt returns the schema of the rows at a location, or "".
func schemaAt(ctx context.Context, name string) string {
	at, err := input.Locate(store.Resolve, name)
	if err != nil {
		return ""
	}
	l, err := dataset.List(ctx, []store.Location{at}, dataset.Options{Formats: formats, Memory: budget.New(plan.DefaultMemory)})
	if err == nil {
		text, _, _ := schemaOfRows(ctx, l) // "" after an error
		return text
	}
	files, _, err := input.Expand(ctx, input.Search{Inputs: []string{name}})
	if err != nil {
		return ""
	}
	for _, f := range files[:min(len(files), completionFiles)] {
		if _, h, err := input.Describe(ctx, store.Resolve, f.Name); err == nil {
			return h.Schema
		}
	}
	return ""
}

// fieldPaths returns the paths of the fields of a record, and of those in them. A path leaves out
// arrays, maps and unions.
func fieldPaths(before string, node *shred.Node, depth int) (paths []string) {
	switch {
	case depth == 0:
		return nil
	case node.Items != nil:
		return fieldPaths(before, node.Items, depth)
	}
	for _, branch := range node.Branches {
		paths = append(paths, fieldPaths(before, branch, depth)...)
	}
	for i := range node.Fields {
		path := before + node.Fields[i].Name
		paths = append(append(paths, path), fieldPaths(path+".", node.Fields[i].Type, depth-1)...)
	}
	return paths
}
