package lineage

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// maxInputs bounds the datasets of an event. If more inputs were named, their parent directories
// replace them, as often as necessary.
const maxInputs = 100

// datasets returns the datasets of named inputs.
func datasets(named []string) []dataset {
	var places []string
	for _, name := range named {
		places = append(places, patternRoot(absolute(name)))
	}
	places = distinct(places)
	for len(places) > maxInputs {
		for i, p := range places {
			places[i] = parentDir(p)
		}
		places = distinct(places)
	}
	all := []dataset{}
	for _, p := range places {
		all = append(all, datasetOf(p))
	}
	return all
}

// addStatistics adds to each dataset how much of it was converted.
func addStatistics(sets []dataset, inputs []report.Input) {
	type sum struct {
		files int
		bytes int64
	}
	sums := map[string]sum{}
	for _, in := range inputs {
		sums[in.Path] = sum{1, in.Bytes}
	}
	known := map[string]bool{}
	for _, d := range sets {
		known[d.place()] = true
	}
	totals := map[string]sum{}
	for p, s := range sums {
		for at := p; ; at = parentDir(at) {
			if known[at] {
				totals[at] = sum{totals[at].files + s.files, totals[at].bytes + s.bytes}
				break
			}
			if at == parentDir(at) {
				break
			}
		}
	}
	for i := range sets {
		s := totals[sets[i].place()]
		sets[i].InputFacets = map[string]facets{"inputStatistics": facet("1-0-0", "InputStatisticsInputDatasetFacet", facets{
			"size": s.bytes, "fileCount": s.files,
		})}
	}
}

// Directories returns the directories of files. Callers use them as inputs if it is not known
// which inputs the user named.
func Directories(files []string) []string {
	var dirs []string
	for _, f := range files {
		dirs = append(dirs, parentDir(f))
	}
	return distinct(dirs)
}

func distinct(names []string) []string {
	seen := map[string]bool{}
	var unique []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			unique = append(unique, name)
		}
	}
	return unique
}

// split splits a place into its path and its origin: the scheme and authority. A local place has
// no origin.
func split(place string) (origin, p string) {
	scheme, rest, ok := strings.Cut(place, "://")
	if !ok {
		return "", place
	}
	authority, p, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority, "/" + p
}

// absolute returns the canonical spelling of a place, independent of the working directory.
func absolute(place string) string {
	origin, p := split(place)
	if origin != "" && origin != "file://" {
		return origin + path.Clean(p)
	}
	if abs, err := filepath.Abs(p); err == nil {
		p = abs
	}
	return p
}

// patternRoot returns the directory that a pattern searches. It returns a place that is not a
// pattern unchanged.
func patternRoot(place string) string {
	origin, p := split(place)
	for strings.ContainsAny(p, `*?[{\`) {
		p = path.Dir(p)
	}
	return origin + p
}

// parentDir returns the directory that contains a place. The parent of a root is the root.
func parentDir(place string) string {
	origin, p := split(place)
	return origin + path.Dir(p)
}

func datasetOf(place string) dataset {
	origin, p := split(place)
	if origin == "" {
		origin = "file"
	}
	return dataset{Namespace: origin, Name: p}
}

func (d *dataset) place() string {
	if d.Namespace == "file" {
		return d.Name
	}
	return d.Namespace + d.Name
}
