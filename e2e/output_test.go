package e2e

import (
	"context"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/store"
)

var partName = regexp.MustCompile(`^(part-\d+-\d+)-[0-9a-f]{16}(\.trv)$`)

// plainName is a name in a destination without the ID of the output, which
// differs between two outputs of the same rows.
func plainName(name string) string { return partName.ReplaceAllString(name, "$1$2") }

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
	s.ID, s.Sequence, s.Plan, s.Made = "", 0, "", nil
	for _, p := range s.Parts {
		for i := range p.Files {
			p.Files[i].Name = plainName(p.Files[i].Name)
		}
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

// runs returns what is in each directory of a run under way.
func runs(ctx context.Context, at store.Location) (all [][]store.Info) {
	for _, dir := range glob(ctx, at, manifest.WorkName+"/*/run-*") {
		infos, _ := at.Store.List(ctx, dir)
		all = append(all, infos)
	}
	return all
}
