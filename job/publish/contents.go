package publish

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// record is a manifest that is not yet, or not any more, a _SUCCESS.
type record struct {
	path    string
	success *manifest.Success
}

// contents are what holders' directories hold that counts.
type contents struct {
	pending []*record // outputs that are being published
	retired []*record // outputs that were replaced
	taken   []string  // directories with the work of plans; in a holder's, outputs are published from them
}

// sequence is the highest number of an output.
func (c *contents) sequence() (highest int64) {
	for _, r := range slices.Concat(c.pending, c.retired) {
		highest = max(highest, r.success.Sequence)
	}
	return highest
}

// work is the directory of a plan's work that was taken; empty if none was.
func (c *contents) work(plan string) string {
	for _, dir := range c.taken {
		if takenPlan(dir) == plan {
			return dir
		}
	}
	return ""
}

// takenPlan is the ID of the plan whose work is in a directory that was taken.
func takenPlan(dir string) string {
	name := strings.TrimPrefix(path.Base(dir), planPrefix)
	id, _, _ := strings.Cut(name, "-")
	return id
}

// collect looks for manifests and taken work in a directory and below it. Holders move
// what they have in it meanwhile: what is gone is passed over. Links are not followed,
// and documents that do not decode do not count.
func (d *Destination) collect(ctx context.Context, dir string, to *contents) error {
	infos, err := d.list(ctx, dir)
	if err != nil {
		return err
	}
	for _, info := range infos {
		switch {
		//guard: a link could lead to documents that others wrote
		case info.Link:
		//guard: what is being removed would count
		case strings.HasPrefix(info.Name, trashPrefix):
		//guard: files of a part that was replaced would be read as manifests
		case strings.HasPrefix(info.Name, old+"-"):
		case strings.HasPrefix(info.Name, planPrefix) && info.Dir:
			to.taken = append(to.taken, info.Path)
		case info.Dir:
			err = d.collect(ctx, info.Path, to)
		case strings.HasPrefix(info.Name, pending+"-"):
			to.pending, err = d.appendRecord(ctx, to.pending, info.Path)
		case strings.HasPrefix(info.Name, retired+"-"):
			to.retired, err = d.appendRecord(ctx, to.retired, info.Path)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// appendRecord appends the manifest in a file, unless the file is gone or holds none.
func (d *Destination) appendRecord(ctx context.Context, to []*record, file string) ([]*record, error) {
	text, err := d.readDocument(ctx, file)
	if err != nil {
		return to, err
	}
	s, err := manifest.DecodeSuccess(text)
	if err != nil {
		return to, nil
	}
	return append(to, &record{path: file, success: s}), nil
}

// readDocument returns nothing if the file is gone or is nothing that can be
// read as one.
func (d *Destination) readDocument(ctx context.Context, file string) ([]byte, error) {
	text, err := d.st.ReadFile(ctx, file, manifest.MaxSize)
	if store.Absent(err) {
		return nil, nil
	}
	return text, err
}
