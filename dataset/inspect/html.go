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

	"github.com/rowtocol/rowtocol/job/manifest"
)

// HTMLStart is what every page begins with.
const HTMLStart = "<!DOCTYPE html>"

var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	pageCSS string
	//go:embed page.js
	pageJS string

	pageTemplate = template.Must(template.New("page").Parse(pageHTML))
)

// page is what the template sees. The figures are escaped wherever they
// stand; only our own style and script are taken as they are.
type page struct {
	*Figures
	Title  string
	Place  string // full path
	Ratio  float64
	Codecs string
	Sums   string
	Types  []typeCount
	Lost   string // what losses come to
	Schema string // indented, if it is JSON
	Other  []Metadata
	Data   pageData
	Policy string
	Style  template.CSS
	Script template.JS
}

// pageData is what the script draws.
type pageData struct {
	Nodes  []*node    `json:"nodes"`
	Groups []RowGroup `json:"groups"`
}

// HTML writes the figures as one page without external resources, the same
// bytes for the same figures. place is the full path of what they are of. The error
// is w's.
func (f *Figures) HTML(w io.Writer, place string) error {
	p := page{
		Figures: f, Title: path.Base(f.Path), Place: place,
		Codecs: distinct(f.Columns, func(c *Column) string { return c.Codec }),
		Sums:   distinct(f.Columns, func(c *Column) string { return c.Checksum }),
		Types:  types(f.Columns),
		Lost:   lost(f.Losses),
		Schema: Indented(f.schema()),
		Data:   pageData{Nodes: tree(f.Columns), Groups: f.RowGroups},
		Policy: "default-src 'none'; base-uri 'none'; form-action 'none'; style-src " + allowed(pageCSS) + "; script-src " + allowed(pageJS),
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
	return pageTemplate.Execute(w, p)
}

// allowed names an inline text in a content security policy.
func allowed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// distinct lists the values of a property of the columns, sorted.
func distinct(columns []Column, of func(*Column) string) string {
	var all []string
	for i := range columns {
		if v := of(&columns[i]); !slices.Contains(all, v) {
			all = append(all, v)
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// typeCount says how many columns have values of a type.
type typeCount struct {
	Name    string
	Columns int
}

// types counts the columns of each type, the most frequent first.
func types(columns []Column) []typeCount {
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

// lost says how many rows were left out.
func lost(losses []manifest.Loss) string {
	if len(losses) == 0 {
		return ""
	}
	rows, known := manifest.LostRows(losses)
	if !known {
		return fmt.Sprintf("at least %d", rows)
	}
	return fmt.Sprint(rows)
}

// Indented returns JSON indented, and any other text as it is: some old files
// hold a bare type name without quotes.
func Indented(text string) string {
	var b bytes.Buffer
	if json.Indent(&b, []byte(text), "", "  ") != nil {
		return text
	}
	return b.String()
}
