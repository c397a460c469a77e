package e2e

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oddName is an element with a script, unless it is escaped.
const oddName = `<img src=x onerror=alert(1)>`

// tenColumns is a record of ten columns: nested ones, an odd name, and a union
// of two.
const tenColumns = `{"type":"record","name":"Mail","fields":[
  {"name":"id","type":"long"},
  {"name":"` + oddName + `","type":"string"},
  {"name":"hops","type":{"type":"array","items":{"type":"record","name":"Hop","fields":[
    {"name":"host","type":"string"},{"name":"port","type":"int"},{"name":"tags","type":{"type":"map","values":"int"}}]}}},
  {"name":"size","type":["null","int","string"]}]}`

// tenColumnsRow returns a row of tenColumns: two hops, the first with a tag.
func tenColumnsRow(row int) []byte {
	b := sized(varints(nil, int64(row)), strings.Repeat(fmt.Sprintf("%x", row*2654435761%1_000_003), 5))
	b = varints(sized(varints(b, 2), fmt.Sprintf("mail%d.example.org", row*7919%997)), 25)
	b = varints(sized(varints(b, 1), "tls"), int64(row%3), 0)
	b = varints(sized(b, "localhost"), 2525, 0, 0)
	return varints(b, 1, int64(row))
}

// wideSchema returns a schema with columns of longs in records of five.
func wideSchema(columns int) string {
	var records []string
	for i := 0; i < columns; i += 5 {
		var fields []string
		for j := range 5 {
			fields = append(fields, fmt.Sprintf(`{"name":"field%d","type":"long"}`, i+j))
		}
		records = append(records, fmt.Sprintf(`{"name":"part%d","type":{"type":"record","name":"Part%[1]d","fields":[%s]}}`, i/5, strings.Join(fields, ",")))
	}
	return `{"type":"record","name":"Wide","fields":[` + strings.Join(records, ",") + `]}`
}

// inspectedPage converts rows and returns the path of their page and the
// figures of --json.
func inspectedPage(t *testing.T, schema string, rows int, row func(int) []byte, flags ...string) (page string, r inspectReport) {
	t.Helper()
	dir := t.TempDir()
	var blocks []block
	for i := range rows {
		blocks = append(blocks, block{1, row(i)})
	}
	run(t, append([]string{"convert", writeAvro(t, "in", schema, blocks...), dir + "/out"}, flags...)...).want(t, 0)
	page = filepath.Join(dir, "a page.html")
	stdout := run(t, "inspect", "--count", "--json", "--sort", "stored", "--html", page, dir+"/out").want(t, 0).stdout
	must(t, json.Unmarshal([]byte(stdout), &r))
	return page, r
}

// inspectReport is what inspect --json prints.
type inspectReport struct {
	Result struct {
		Columns []struct {
			Name   string
			Stored int64 `json:"stored_bytes"`
		}
		RowGroups []struct{ Name string } `json:"row_groups"`
	}
}

// Expressions on the page.
const (
	shownNames = `[...document.querySelectorAll("#columns tbody th bdi")].map((e) => e.textContent)`
	shownCount = `document.getElementById("shown").textContent`
	sortedBy   = `[...document.querySelectorAll("#columns thead [aria-sort]")].map((e) => e.textContent + " " + e.ariaSort).join()`
)

func headingButton(title string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#columns thead button")].find((e) => e.textContent === %q)`, title)
}

func expandButton(name string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#columns tbody th button")].find((e) => e.parentNode.querySelector("bdi").title === %q)`, name)
}

func wantEval[T comparable](t *testing.T, b *browser, what, expression string, want T) {
	t.Helper()
	var got T
	if b.eval(expression, &got); got != want {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (b *browser) wantNames(what string, want ...string) {
	b.t.Helper()
	var got []string
	if b.eval(shownNames, &got); !slices.Equal(got, want) {
		b.t.Errorf("%s: %q, want %q", what, got, want)
	}
}

// TestPageOfParquet checks that the page of Parquet files has their own types, encodings and codecs.
func TestPageOfParquet(t *testing.T) {
	b := startBrowser(t)
	page, _ := inspectedPage(t, tenColumns, 300, tenColumnsRow, "--format", "parquet", "--compression", "id=none")
	b.open(page)
	cell := func(row, title string) string {
		return fmt.Sprintf(`(() => {
			const at = [...document.querySelectorAll("#columns thead button")].findIndex((e) => e.textContent === %q);
			return [...document.querySelectorAll("#columns tbody tr")].find((e) => e.querySelector("bdi").textContent === %q).children[at].textContent;
		})()`, title, row)
	}
	for _, want := range [][]string{{"id", "Stored as", "INT64"}, {"id", "Codec", "none"}, {"host", "Stored as", "BYTE_ARRAY STRING"}, {"host", "Encoding", "RLE_DICTIONARY"}, {"host", "Codec", "snappy"}, {"hops[]", "Stored as", "LIST"}} {
		wantEval(t, b, want[0]+": "+want[1], cell(want[0], want[1]), want[2])
	}
}

// TestPage checks the page of inspect --html in a browser, with actions of a reader.
func TestPage(t *testing.T) {
	b := startBrowser(t)
	page, r := inspectedPage(t, tenColumns, 300, tenColumnsRow, "--row-group-size", "8KiB", "--block-size", "1KiB")
	if len(r.Result.Columns) != 10 || len(r.Result.RowGroups) < 2 {
		t.Fatalf("%+v", r)
	}
	b.open(page)
	wantEval(t, b, "title", `document.title`, "out: where the bytes are")
	wantEval(t, b, "count", shownCount, "10 columns")
	wantEval(t, b, "order", sortedBy, "Stored descending")
	wantEval(t, b, "row groups", `document.querySelectorAll("#groups tbody tr").length`, len(r.Result.RowGroups))
	wantEval(t, b, "largest area", `document.querySelector(".map bdi").textContent`, oddName)
	wantEval(t, b, "areas that are columns", `document.querySelectorAll(".map div:not(.place)").length`, len(r.Result.Columns))
	wantEval(t, b, "longest bar", `document.querySelector("#columns .fill").style.width`, "100%")
	wantEval(t, b, "total", `document.querySelector("#columns tfoot").textContent.startsWith("Total")`, true)
	wantEval(t, b, "headings that are not explained", `document.querySelectorAll("thead button:not([title])").length`, 0)
	wantEval(t, b, "elements made by a name", `document.querySelectorAll("img").length`, 0)

	b.click(headingButton("Name"))
	wantEval(t, b, "order", sortedBy, "Name ascending")
	tree := []string{oddName, "hops[]", "host", "port", "tags>", "key", "value", "id", "size", "/int", "/string"}
	b.wantNames("tree by name", tree...)
	b.click(headingButton("Name"))
	b.wantNames("tree by name, backwards", "size", "/string", "/int", "id", "hops[]", "tags>", "value", "key", "port", "host", oddName)
	b.click(headingButton("Name"))

	b.click(`document.getElementById("collapse")`)
	b.wantNames("closed tree", oddName, "hops[]", "id", "size")
	var focused bool
	b.eval(expandButton("hops[]")+`.focus(), true`, &focused)
	b.enter("\r")
	b.wantNames("one opened", oddName, "hops[]", "host", "port", "tags>", "id", "size")
	wantEval(t, b, "focus after opening", `document.activeElement === `+expandButton("hops[]"), true)
	wantEval(t, b, "state", expandButton("hops[]")+`.ariaExpanded`, "true")
	b.click(expandButton("hops[]"))
	b.wantNames("closed again", oddName, "hops[]", "id", "size")

	b.click(`document.getElementById("filter")`)
	b.enter("KEY")
	b.wantNames("filtered tree", "hops[]", "tags>", "key")
	wantEval(t, b, "count", shownCount, "1 of 10 columns")
	b.enter(" or not")
	wantEval(t, b, "nothing found", `document.querySelector("#columns tbody").textContent`, "No name contains this text.")
	b.eval(`document.getElementById("filter").select(), true`, &focused)
	b.enter(" ")

	b.click(`[...document.querySelectorAll(".map div")].find((e) => e.title.startsWith("hops[]#host\n"))`)
	b.wantNames("column chosen on the map", "hops[]", "host")
	b.eval(`document.getElementById("filter").select(), true`, &focused)
	b.enter(" ")

	b.click(`document.getElementById("nested")`)
	b.click(headingButton("Stored"))
	var flat []string
	for _, c := range r.Result.Columns {
		flat = append(flat, c.Name)
	}
	b.wantNames("flat, by stored size", flat...)

	const background = `getComputedStyle(document.body).backgroundColor`
	var light string
	b.eval(background, &light)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}}, nil)
	wantEval(t, b, "dark as light", background+` === `+fmt.Sprintf("%q", light), false)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 400, "height": 800, "deviceScaleFactor": 1, "mobile": false}, nil)
	wantEval(t, b, "wider than a narrow window", `document.documentElement.scrollWidth > innerWidth`, false)
	b.wantQuiet()
}

// TestEmptyPage checks the page of an output without files.
func TestEmptyPage(t *testing.T) {
	b := startBrowser(t)
	dir := t.TempDir()
	run(t, "convert", "--allow-empty", t.TempDir(), dir+"/out").want(t, 0)
	run(t, "inspect", "--html", dir+"/page.html", dir+"/out").want(t, 0)
	b.open(dir + "/page.html")
	wantEval(t, b, "title", `document.title`, "out: where the bytes are")
	wantEval(t, b, "tables", `document.querySelectorAll("section:not([hidden])").length`, 0)
	b.wantQuiet()
}

// TestWidePage checks a page that has more columns than it draws at once.
func TestWidePage(t *testing.T) {
	b := startBrowser(t)
	for _, c := range []struct {
		columns int
		count   string
	}{{2_000, "2,000"}, {10_000, "10,000"}} {
		page, _ := inspectedPage(t, wideSchema(c.columns), 3, func(int) []byte { return make([]byte, c.columns) })
		b.open(page)
		const drawn = `document.querySelectorAll("#columns tbody tr").length`
		wantEval(t, b, "count", shownCount, c.count+" columns")
		wantEval(t, b, "drawn of the closed tree", drawn, min(c.columns/5, 500))
		wantEval(t, b, "areas of columns", `document.querySelectorAll(".map div:not(.place)").length`, c.columns)
		b.click(`document.getElementById("expand")`)
		wantEval(t, b, "drawn of the open tree", drawn, 500)
		const top = `document.querySelector("#columns thead th").getBoundingClientRect().top`
		wantEval(t, b, "heading stays", fmt.Sprintf(`(() => { const before = %s; document.querySelector("#columns .scroll").scrollTop = 3000; return %[1]s - before; })()`, top), 0)
		b.click(`document.querySelector("#columns .more button")`)
		wantEval(t, b, "drawn when asked for more", drawn, 1_000)
		if c.columns == 2_000 {
			b.click(`document.querySelector("#columns .more button:last-child")`)
			wantEval(t, b, "drawn when asked for all", drawn, 2_400)
		}
		b.click(headingButton("#"))
		wantEval(t, b, "drawn when sorted", drawn, 500)
		b.click(`document.getElementById("filter")`)
		b.enter("field123")
		var names []string
		if b.eval(shownNames, &names); len(names) != 14 || !slices.Equal(names[:3], []string{"part24", "field123", "part246"}) {
			t.Errorf("filtered: %q", names)
		}
		wantEval(t, b, "count", shownCount, "11 of "+c.count+" columns")
	}
	b.wantQuiet()
}
