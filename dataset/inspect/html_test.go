package inspect

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/trevni"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// renderHTML returns a page, and the page without our own style and script.
func renderHTML(t *testing.T, f *Figures) (page, plain string) {
	t.Helper()
	var b bytes.Buffer
	testenv.Must(t, f.HTML(&b, f.Path))
	page = b.String()
	if !strings.HasPrefix(page, HTMLStart) {
		t.Errorf("the page begins %.20q", page)
	}
	if strings.Count(page, pageCSS) != 1 || strings.Count(page, pageJS) != 1 {
		t.Fatalf("the page does not contain page.css and page.js unchanged, each once")
	}
	r := strings.NewReplacer(pageCSS, "page.css", pageJS, "page.js")
	return page, regexp.MustCompile(`sha256-[^ ]*&#39;`).ReplaceAllString(r.Replace(page), "SUM&#39;")
}

func TestGolden(t *testing.T) {
	_, got := renderHTML(t, gather(t, trevni.Format, hops(t, trevni.Format, 300), hops(t, trevni.Format, 30)))
	const golden = "testdata/page.golden.html"
	if *update {
		testenv.Must(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	testenv.Must(t, err)
	if got != string(want) {
		t.Errorf("the page differs from %s; -update rewrites it:\n%s", golden, got)
	}
}

// oneRow returns a file of one row with a column of longs and one of strings, of these names.
func oneRow(t *testing.T, long, text string) files {
	t.Helper()
	var file bytes.Buffer
	cols := []column.Column{{Name: long, Type: column.Long, Parent: -1}, {Name: text, Type: column.String, Parent: -1}}
	w, err := trevni.NewWriter(&file, `"</pre><script>alert(1)</script>"`, cols, trevni.Options{
		Meta: []trevni.KeyValue{{Key: "<b>key</b>", Value: []byte(`"><img src=x onerror=alert(1)>`)}, {Key: "binary", Value: []byte{0xff, 0}}},
	})
	testenv.Must(t, err)
	w.Column(0).AppendVarint(1)
	w.Column(1).AppendSized([]byte("text"))
	testenv.Must(t, w.EndRow())
	testenv.Must(t, w.Close())
	return files{"": file.Bytes()}
}

// Text from files never becomes markup or script.
func TestHostileNames(t *testing.T) {
	const long, text = `</script><script>alert(1)</script>`, "<!--\u2028\u202e'\"`${alert(1)}{{.}}\x00\xff"
	f := gather(t, trevni.Format, oneRow(t, long, text))
	f.Path = `/tmp/</title><script>alert(1)</script>'"`
	page, plain := renderHTML(t, f)
	for _, forbidden := range []string{"<script>alert", "<img", "<b>key", "<!--", "</title><s"} {
		if strings.Contains(plain, forbidden) {
			t.Errorf("%q is in the page:\n%s", forbidden, plain)
		}
	}
	if n := strings.Count(strings.ToLower(page), "<script"); n != 2 {
		t.Errorf("%d scripts, want the data and ours", n)
	}
	_, block, _ := strings.Cut(page, `id="data">`)
	block, _, _ = strings.Cut(block, "</script>")
	var data pageData
	if err := json.Unmarshal([]byte(block), &data); err != nil {
		t.Fatalf("%v in %s", err, block)
	}
	if len(data.Nodes) != 2 || data.Nodes[0].Name != long || data.Nodes[1].Name != strings.ToValidUTF8(text, "\ufffd") {
		t.Errorf("%+v", data.Nodes)
	}
}

// The page loads nothing: it refers to no other resource.
func TestSelfContained(t *testing.T) {
	page, _ := renderHTML(t, gather(t, trevni.Format, hops(t, trevni.Format, 3)))
	for _, outside := range []string{"http:", "https:", "src=", "href=", "@import", "url(", "fetch(", "XMLHttpRequest", "style="} {
		if strings.Contains(page, outside) {
			t.Errorf("%q is in the page", outside)
		}
	}
}

func TestEmptyHTML(t *testing.T) {
	renderHTML(t, gather(t, trevni.Format, hops(t, trevni.Format, 0)))
	renderHTML(t, gather(t, trevni.Format))
}
