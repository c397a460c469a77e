package inspect

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page's parts
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/job/manifest"
)

// HTMLStart is the beginning of every page.
const HTMLStart = "<!DOCTYPE html>"

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string
)

// pageTemplate is parsed at its first use, because few runs need it.
var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageHTML)) })

// page is the data of the template. The template escapes all of it, except the
// style and the script of the package.
type page struct {
	*Figures
	Title  string
	Place  string // full path of the output
	Ratio  float64
	Codecs string
	Sums   string
	Types  []typeCount
	Lost   string // number of lost rows; empty if there are no losses
	Schema string // indented if it is JSON
	Other  []Metadata
	Data   pageData
	Policy string
	Style  template.CSS
	Script template.JS
}

// pageData is the data that the script draws.
type pageData struct {
	Nodes  []*node    `json:"nodes"`
	Groups []RowGroup `json:"groups"`
}

// HTML writes the figures as one page without external resources. The same
// figures give the same bytes. place is the full path of the output. An error is
// an error of w.
func (f *Figures) HTML(w io.Writer, place string) error {
	p := page{
		Figures: f, Title: path.Base(f.Path), Place: place,
		Codecs: distinct(f.Columns, func(c *Column) string { return c.Codec }),
		Sums:   distinct(f.Columns, func(c *Column) string { return c.Checksum }),
		Types:  countTypes(f.Columns),
		Lost:   lostRows(f.Losses),
		Schema: Indented(f.schema()),
		Data:   pageData{Nodes: tree(f.Columns), Groups: f.RowGroups},
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + policySource(pageCSS) + "; script-src " + policySource(pageJS),
		Style:  template.CSS(pageCSS), Script: template.JS(pageJS),
	}
	if f.Stored > 0 {
		p.Ratio = float64(f.Raw) / float64(f.Stored)
	}
	for _, m := range f.Metadata {
		if !m.schema || m.Hex {
			p.Other = append(p.Other, m)
		}
	}
	return pageTemplate().Execute(w, p)
}

// policySource returns the source of an inline text for a content security policy.
func policySource(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// distinct lists the values of a property of the columns, sorted.
func distinct(columns []Column, property func(*Column) string) string {
	var all []string
	for i := range columns {
		if v := property(&columns[i]); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// typeCount is the number of columns that have values of a type.
type typeCount struct {
	Name    string
	Columns int
}

// countTypes counts the columns of each type and lists the most frequent first.
func countTypes(columns []Column) []typeCount {
	var counts []typeCount
	for i := range columns {
		name := strings.TrimSuffix(columns[i].SchemaType, "[]")
		at := slices.IndexFunc(counts, func(t typeCount) bool { return t.Name == name })
		if at < 0 {
			at, counts = len(counts), append(counts, typeCount{Name: name})
		}
		counts[at].Columns++
	}
	slices.SortStableFunc(counts, func(a, b typeCount) int { return b.Columns - a.Columns })
	return counts
}

// lostRows describes how many rows were left out.
func lostRows(losses []manifest.Loss) string {
	if len(losses) == 0 {
		return ""
	}
	rows, known := manifest.LostRows(losses)
	if !known {
		return fmt.Sprintf("at least %d", rows)
	}
	return fmt.Sprint(rows)
}

// Indented returns JSON indented, and other text unchanged. In some old files, the schema is
// a type name without quotes.
func Indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}
