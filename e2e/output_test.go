package e2e

import (
	"context"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// target is a format to convert to.
type target struct {
	name  string
	flags []string
	plain []string // flags for files that are not compressed
	other string   // a flag that makes another output than flags
}

var (
	trevniFiles = target{name: "trevni", plain: []string{"--codec=null"}, other: "--codec=deflate"}
	cFiles      = target{
		name: "cfile", flags: []string{"--format=cfile"}, plain: []string{"--format=cfile", "--compression=none"}, other: "--compression=zlib",
	}
	hFiles = target{
		name: "hfile", flags: []string{"--format=hfile", "--key=from,id"}, plain: []string{"--format=hfile", "--key=from,id"}, other: "--block-codec=gz",
	}
	// indexed are column files with two key indexes next to them.
	indexed = target{
		name: "indexed", flags: []string{"--index=id", "--index=from,date"}, plain: []string{"--codec=null"}, other: "--index=subject",
	}
	targets = []target{trevniFiles, cFiles}
)

// convert returns the arguments that convert to the format.
func (f target) convert(args ...string) []string {
	return append(append([]string{"convert"}, f.flags...), args...)
}

// rowGroups returns the flag for row groups of a size. A column of CFiles may need nine
// bytes for each that it has before it is encoded, and a row group must hold that: the
// same rows are as few parts only if they may be larger.
func (f target) rowGroups(trevni, cfiles string) string {
	if f.name == trevniFiles.name || f.name == indexed.name {
		return "--row-group-size=" + trevni
	}
	return "--row-group-size=" + cfiles
}

// inEachFormat runs a test for every format.
func inEachFormat(t *testing.T, test func(t *testing.T, f target)) {
	for _, f := range targets {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

// partName is the name of a part, or of a file of one that is a directory.
var partName = regexp.MustCompile(`^(part-\d+-\d+)-[0-9a-f]{16}(\.trv|\.hfile|\.cfiles(?:/.+)?)$`)

// indexName is the name of a file of a key index.
var indexName = regexp.MustCompile(`^(_index)/[0-9a-f]{16}(/.+)$`)

// plainName is a name in a destination without the ID of the output, which
// differs between two outputs of the same rows.
func plainName(name string) string {
	return indexName.ReplaceAllString(partName.ReplaceAllString(name, "$1$2"), "$1$2")
}

// plainContent is the content of a file of a destination without what differs
// between two outputs of the same rows: in _SUCCESS the output's ID, how many
// outputs there were before, the plan, which names the destination, and how the
// output was made.
func plainContent(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	if name != manifest.SuccessName {
		return content
	}
	s, err := manifest.DecodeSuccess(content)
	must(t, err)
	s.ID, s.Sequence, s.Replaces, s.Plan, s.Made = "", 0, nil, "", nil
	for i := range s.Request.Inputs {
		s.Request.Inputs[i].Recent = false // when this run looked
	}
	for _, p := range s.Parts {
		for i := range p.Files {
			p.Files[i].Name = plainName(p.Files[i].Name)
		}
	}
	for i := range s.Index {
		s.Index[i].Name = plainName(s.Index[i].Name)
	}
	content, err = s.Encode()
	must(t, err)
	return content
}

// plain returns the files of a destination with plain names and content. Files
// of no output or of two are a failure.
func plain(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	all := make(map[string]string, len(files))
	for name, content := range files {
		p := plainName(name)
		if _, twice := all[p]; twice {
			t.Errorf("%s is there twice, with another ID", p)
		}
		all[p] = string(plainContent(t, name, []byte(content)))
	}
	return all
}

// glob returns the paths in a destination that match a pattern, as far as can be
// seen now.
func glob(ctx context.Context, at store.Location, pattern string) []string {
	dirs := []string{at.Path}
	for segment := range strings.SplitSeq(pattern, "/") {
		var found []string
		for _, dir := range dirs {
			infos, _ := at.Store.List(ctx, dir) // it may not exist yet, or not any more
			for _, info := range infos {
				if ok, _ := path.Match(segment, info.Name); ok {
					found = append(found, info.Path)
				}
			}
		}
		dirs = found
	}
	return dirs
}

// unfinishedWork lists each directory of unfinished work: those of plans, and those of
// holders. A list has the entries of the directories in it, too.
func unfinishedWork(ctx context.Context, at store.Location) (all [][]store.Info) {
	for _, dir := range glob(ctx, at, manifest.WorkName+"/*") {
		infos, _ := at.Store.List(ctx, dir)
		for _, info := range infos {
			if info.Dir {
				files, _ := at.Store.List(ctx, info.Path)
				infos = append(infos, files...)
			}
		}
		all = append(all, infos)
	}
	return all
}
