package main

import (
	"strings"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/index"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// indexOf is a key index of outputs.
type indexOf struct {
	Fields  string `json:"fields"`
	Files   int    `json:"files"`
	Entries int64  `json:"entries"` // number of rows that have a key
	Bytes   int64  `json:"bytes"`
}

// addIndexes adds the indexes of an output to the indexes of others on the same fields.
func addIndexes(all []indexOf, fields []string, files []manifest.File) []indexOf {
	for _, x := range index.IndexesOf(fields, files, "") {
		o := indexOf{Fields: x.Fields, Files: len(x.Files), Entries: x.Entries()}
		for _, f := range x.Files {
			o.Bytes += f.Bytes
		}
		all = o.addTo(all)
	}
	return all
}

// addTo adds an index to all: to the entry of the same fields, or as a new entry.
func (o indexOf) addTo(all []indexOf) []indexOf {
	for i := range all {
		if all[i].Fields == o.Fields {
			all[i].Files += o.Files
			all[i].Entries += o.Entries
			all[i].Bytes += o.Bytes
			return all
		}
	}
	return append(all, o)
}

// indexText returns a text that lists the indexes.
func indexText(all []indexOf) string {
	var said []string
	for _, x := range all {
		said = append(said, x.Fields+" ("+cli.Plural(x.Entries, "key")+", "+cli.Human(x.Bytes)+" in "+cli.Plural(x.Files, "file")+")")
	}
	return "key indexes: " + strings.Join(said, "; ")
}
