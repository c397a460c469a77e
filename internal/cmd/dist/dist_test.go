package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestArchive makes archives of files that differ only in age and permissions.
func TestArchive(t *testing.T) {
	var made [][]byte
	for i, perm := range []os.FileMode{0o644, 0o664} {
		dir := t.TempDir()
		for _, name := range []string{"b", "a/x", "tmp/.keep"} {
			if err := write(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		old := time.Unix(int64(1e9*(i+1)), 0)
		err := errors.Join(os.Chmod(filepath.Join(dir, "b"), perm), os.Chmod(filepath.Join(dir, "tmp"), 0o777|os.ModeSticky), os.Chtimes(filepath.Join(dir, "b"), old, old))
		if err != nil {
			t.Fatal(err)
		}
		r := &release{time: time.Unix(1.5e9, 0)}
		name := filepath.Join(t.TempDir(), "a.tar.gz")
		if err := r.archive(name, []source{{dir, "top"}}); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, data)
	}
	if !bytes.Equal(made[0], made[1]) {
		t.Error("the archives depend on age or permissions of the files")
	}
	zip, err := gzip.NewReader(bytes.NewReader(made[0]))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for r := tar.NewReader(zip); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || h.ModTime.Unix() != 1.5e9 {
			t.Errorf("%s: %+v", h.Name, h)
		}
		if h.Name == "top/tmp/" && h.Mode != 0o1777 {
			t.Errorf("%s: mode %o", h.Name, h.Mode)
		}
	}
	if got := strings.Join(names, " "); got != "top/ top/a/ top/a/x top/b top/tmp/ top/tmp/.keep" {
		t.Errorf("got entries %s", got)
	}
}

func TestIdentify(t *testing.T) {
	r := &release{}
	err := r.identify([]byte(`{"result": {"version": "v1.2.3-rc.1", "time": "2026-01-02T03:04:05Z"}}`))
	if want := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC); err != nil || r.checkVersion() != nil || r.version != "1.2.3-rc.1" || !r.time.Equal(want) {
		t.Errorf("got %s, %v, %v", r.version, r.time, err)
	}
	for _, text := range []string{`{"result": {"version": "devel"}}`, `{"result": {"version": "(devel)", "time": "0001-01-01T00:00:00Z"}}`} {
		if err := errors.Join(r.identify([]byte(text)), r.checkVersion()); err == nil || !strings.Contains(err.Error(), "root of a clone") {
			t.Errorf("%s: got %v", text, err)
		}
	}
}

// TestSBOM lists the modules of this test.
func TestSBOM(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "a.json")
	if err := writeSBOM(name, self, "1.2.3+dirty"); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"pkg:golang/github.com/CycloneDX/cyclonedx-go@v`, `"pkg:golang/std@1.`, `dist@v1.2.3%2Bdirty"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the SBOM lacks %s", want)
		}
	}
	for _, no := range []string{"serialNumber", "timestamp"} {
		if strings.Contains(string(text), no) {
			t.Errorf("the SBOM has a %s", no)
		}
	}
}

// TestDocuments checks that the staged pages link only to staged files, and that the sample of the
// tutorial is staged.
func TestDocuments(t *testing.T) {
	t.Chdir("../../..")
	r := &release{stage: t.TempDir()}
	if err := r.documents(); err != nil {
		t.Fatal(err)
	}
	var pages []string
	for _, pattern := range []string{"*.md", "docs/*.md", "configs/*.md"} {
		found, err := filepath.Glob(r.shared(pattern))
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, found...)
	}
	tutorial, err := os.ReadFile(r.shared("docs/tutorial.md"))
	if err != nil {
		t.Fatal(err)
	}
	samples := regexp.MustCompile(`\btestdata/[a-z0-9/.-]+\.avro\b`).FindAllString(string(tutorial), -1)
	for _, sample := range samples {
		if _, err := os.Stat(r.shared(sample)); err != nil {
			t.Errorf("the sample of the tutorial is missing: %v", err)
		}
	}
	links, pictures := 0, 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(!?)\[[^]]*\]\(([^)#:]+)(#[^)]*)?\)`).FindAllStringSubmatch(string(text), -1) {
			links++
			pictures += len(m[1])
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[2])); err != nil {
				t.Errorf("%s: %v", filepath.Base(page), err)
			}
		}
	}
	if links < 50 || pictures == 0 || len(samples) == 0 {
		t.Errorf("%d links, %d pictures and %d samples", links, pictures, len(samples))
	}
}

// TestManual stages the pages of a program in the directories of their sections.
func TestManual(t *testing.T) {
	r := &release{stage: t.TempDir()}
	program := filepath.Join(r.stage, "program")
	if err := write(program, []byte("#!/bin/sh\n[ $1 = man ] && echo one >$2/a.1 && echo seven >$2/b.7\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := r.manual(program); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"man/man1/a.1": "one\n", "man/man7/b.7": "seven\n"} {
		if text, err := os.ReadFile(r.shared(name)); string(text) != want || err != nil {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

func TestPack(t *testing.T) {
	r := &release{stage: t.TempDir()}
	if err := errors.Join(write(r.shared("man/man1/a.1"), []byte("a page"), 0o600), write(r.shared("CHANGELOG.md"), []byte("changes"), 0o600), r.pack()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.1.gz": "a page", "changelog.gz": "changes"} {
		data, err := os.ReadFile(filepath.Join(r.packed(), name))
		if err != nil {
			t.Fatal(err)
		}
		zip, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(zip); string(text) != want || err != nil || !zip.ModTime.IsZero() || zip.Name != "" {
			t.Errorf("%s: %q, %v, %+v", name, text, err, zip.Header)
		}
	}
}

func TestLicences(t *testing.T) {
	r := &release{stage: t.TempDir()}
	dir := t.TempDir()
	if err := r.licencesOf("m", dir); err == nil {
		t.Error("no error for a module without a licence")
	}
	names := []string{"LICENSE.txt", "LICENSE_MIT"}
	for _, name := range names {
		if err := write(filepath.Join(dir, name), []byte("free"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.licencesOf("example.com/m", dir); err != nil {
		t.Error(err)
	}
	for _, name := range names {
		if text, err := os.ReadFile(r.shared("licenses/example.com/m", name)); err != nil || string(text) != "free" {
			t.Errorf("got %q, %v", text, err)
		}
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3-rc.1": "1.2.3rc1", "1.2.3+dirty": "1.2.3+dirty", "1.2.3-beta2": "1.2.3b2",
		"0.0.0-20260102030405-0123456789ab":         "0.0.0.dev20260102030405+g0123456789ab",
		"1.2.4-0.20260102030405-0123456789ab+dirty": "1.2.4.dev20260102030405+g0123456789ab.dirty",
		"0123456789abcdef0123456789abcdef01234567":  "0.0.0.dev0+g0123456789ab",
		"devel": "0.0.0.dev0", "1.2.3-strange.1": "0.0.0.dev0",
	} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s: got %s, want %s", version, got, want)
		}
	}
}
