package lineage

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/rowtocol/rowtocol/telemetry/report"
)

// maxInputs bounds the datasets of an event. Where more inputs were named, the directories
// stand for them that hold them, or the ones that hold those.
const maxInputs = 100

// datasets are the datasets that inputs stand for.
func datasets(named []string) []dataset {
	var places []string
	for _, name := range named {
		places = append(places, searched(absolute(name)))
	}
	places = distinct(places)
	for len(places) > maxInputs {
		for i, p := range places {
			places[i] = above(p)
		}
		places = distinct(places)
	}
	all := []dataset{}
	for _, p := range places {
		all = append(all, datasetOf(p))
	}
	return all
}

// count tells of each dataset how much of it was converted.
func count(of []dataset, inputs []report.Input) {
	type sum struct {
		files int
		bytes int64
	}
	sums := map[string]sum{}
	for _, in := range inputs {
		sums[in.Path] = sum{1, in.Bytes}
	}
	known := map[string]bool{}
	for _, d := range of {
		known[d.place()] = true
	}
	totals := map[string]sum{}
	for p, s := range sums {
		for at := p; ; at = above(at) {
			if known[at] {
				totals[at] = sum{totals[at].files + s.files, totals[at].bytes + s.bytes}
				break
			}
			if at == above(at) {
				break
			}
		}
	}
	for i := range of {
		s := totals[of[i].place()]
		of[i].InputFacets = map[string]facets{"inputStatistics": facet("1-0-0", "InputStatisticsInputDatasetFacet", facets{
			"size": s.bytes, "fileCount": s.files,
		})}
	}
}

// Directories are the directories of files, which stand for them where it is not known
// what the user named.
func Directories(files []string) []string {
	var dirs []string
	for _, f := range files {
		dirs = append(dirs, above(f))
	}
	return distinct(dirs)
}

func distinct(names []string) []string {
	seen := map[string]bool{}
	var once []string
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			once = append(once, name)
		}
	}
	return once
}

// split divides a place into scheme and authority, which are empty for local ones, and path.
func split(place string) (origin, p string) {
	scheme, rest, ok := strings.Cut(place, "://")
	if !ok {
		return "", place
	}
	authority, p, _ := strings.Cut(rest, "/")
	return scheme + "://" + authority, "/" + p
}

// absolute is a place in one spelling, whichever directory the program runs in.
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

// searched is the place itself, or the directory that a pattern searches.
func searched(place string) string {
	origin, p := split(place)
	for strings.ContainsAny(p, `*?[{\`) {
		p = path.Dir(p)
	}
	return origin + p
}

// above is the directory that holds a place; of a root, the root.
func above(place string) string {
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
