package e2e

import (
	"context"
	"path"
	"regexp"
	"slices"
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
	other string   // a flag for another output than that of flags
}

var (
	trevniFiles = target{name: "trevni", plain: []string{"--codec=null"}, other: "--codec=deflate"}
	cFiles      = target{
		name: "cfile", flags: []string{"--format=cfile"}, plain: []string{"--format=cfile", "--compression=none"}, other: "--compression=zlib",
	}
	hFiles = target{
		name: "hfile", flags: []string{"--format=hfile", "--key=from,id"}, plain: []string{"--format=hfile", "--key=from,id"}, other: "--block-codec=gz",
	}
	parquetFiles = target{
		name: "parquet", flags: []string{"--format=parquet"}, plain: []string{"--format=parquet", "--compression=none"}, other: "--compression=zstd",
	}
	// indexed are column files with two key indexes next to them.
	indexed = target{
		name: "indexed", flags: []string{"--index=id", "--index=from,date"}, plain: []string{"--codec=null"}, other: "--index=subject",
	}
	targets = []target{trevniFiles, cFiles, parquetFiles}
)

// convert returns the arguments that convert to the format.
func (f target) convert(args ...string) []string {
	return append(append([]string{"convert"}, f.flags...), args...)
}

// rowGroups returns the flag for row groups of a size. Before it is encoded, a column of
// CFiles may need nine bytes for each byte, and a row group counts them. So the same
// rows need larger row groups for as few parts.
func (f target) rowGroups(trevni, cfiles string) string {
	if f.name == cFiles.name || f.name == hFiles.name {
		return "--row-group-size=" + cfiles
	}
	return "--row-group-size=" + trevni
}

// flagsFor returns the flags of the format, and that of rowGroups.
func (f target) flagsFor(trevni, cfiles string) []string {
	return append(slices.Clip(f.flags), f.rowGroups(trevni, cfiles))
}

// clientTargets are the formats that tests of both clients of HDFS convert to, by client.
var clientTargets = map[string]target{"hdfs": parquetFiles, "webhdfs": trevniFiles}

// inEachFormat runs a test for every format.
func inEachFormat(t *testing.T, test func(t *testing.T, f target)) {
	for _, f := range targets {
		t.Run(f.name, func(t *testing.T) { test(t, f) })
	}
}

// partName matches the name of a part, or of a file in a part that is a directory.
var partName = regexp.MustCompile(`^(part-\d+-\d+)-[0-9a-f]{16}(\.trv|\.hfile|\.parquet|\.cfiles(?:/.+)?)$`)

// besideName matches the name of a file of a key index, or of a quarantined range.
var besideName = regexp.MustCompile(`^(_index|_quarantine)/[0-9a-f]{16}(/.+)$`)

// plainName returns a name in a destination without the ID of the output, which differs
// between two outputs of the same rows.
func plainName(name string) string {
	return besideName.ReplaceAllString(partName.ReplaceAllString(name, "$1$2"), "$1$2")
}

// plainContent returns the content of a file of a destination without the parts that differ
// between two outputs of the same rows: in _SUCCESS the output's ID, the number of
// earlier outputs, the plan, which names the destination, and how the output was made.
func plainContent(t *testing.T, name string, content []byte) []byte {
	t.Helper()
	if name != manifest.SuccessName {
		return content
	}
	s, err := manifest.DecodeSuccess(content)
	must(t, err)
	s.ID, s.Sequence, s.Replaces, s.Plan, s.Made = "", 0, nil, "", nil
	for i := range s.Request.Inputs {
		s.Request.Inputs[i].Recent = false // depends on the time of the run
	}
	for _, p := range s.Parts {
		for i := range p.Files {
			p.Files[i].Name = plainName(p.Files[i].Name)
		}
	}
	for i := range s.Index {
		s.Index[i].Name = plainName(s.Index[i].Name)
	}
	for i := range s.Losses {
		if q := s.Losses[i].Quarantine; q != nil {
			q.Name = plainName(q.Name)
		}
	}
	content, err = s.Encode()
	must(t, err)
	return content
}

// plain returns the files of a destination with plain names and content. Files of several
// outputs, or of none, fail the test.
func plain(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	all := make(map[string]string, len(files))
	for name, content := range files {
		p := plainName(name)
		if _, twice := all[p]; twice {
			t.Errorf("%s exists twice, with different IDs", p)
		}
		all[p] = string(plainContent(t, name, []byte(content)))
	}
	return all
}

// glob returns the paths in a destination that match a pattern. It ignores errors.
func glob(ctx context.Context, at store.Location, pattern string) []string {
	dirs := []string{at.Path}
	for segment := range strings.SplitSeq(pattern, "/") {
		var found []string
		for _, dir := range dirs {
			infos, _ := at.Store.List(ctx, dir) // it may not exist yet, or no longer
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

// unfinishedWork lists each directory of unfinished work, of plans and of holders, with the
// entries of its directories.
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
