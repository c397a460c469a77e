package tables

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
)

// manifestReaders is the number of manifests that are read at the same time.
const manifestReaders = 8

// liveFiles are the files of a snapshot.
type liveFiles struct {
	data    map[string]iceberg.DataFile // by URI
	deletes []string                    // files that say which rows are deleted
}

// readLive returns the files of a snapshot; none if the snapshot is nil.
func readLive(ctx context.Context, fs iceio.IO, s *table.Snapshot) (*liveFiles, error) {
	live := &liveFiles{data: make(map[string]iceberg.DataFile)}
	if s == nil {
		return live, nil
	}
	manifests, err := s.Manifests(fs)
	if err != nil {
		return nil, err
	}
	entries := make([][]iceberg.DataFile, len(manifests))
	err = parallel.Do(ctx, len(manifests), manifestReaders, func(_ context.Context, i int) error {
		for e, err := range manifests[i].Entries(fs, true) {
			if err != nil {
				return err
			}
			entries[i] = append(entries[i], e.DataFile())
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, f := range slices.Concat(entries...) {
		switch {
		case f.ContentType() != iceberg.EntryContentData:
			live.deletes = append(live.deletes, f.FilePath())
		//guard: refuses a table that has a file twice
		case live.data[f.FilePath()] != nil:
			return nil, failure.New(failure.Foreign, "the table has the file %s twice", f.FilePath())
		default:
			live.data[f.FilePath()] = f
		}
	}
	return live, nil
}

// names returns the URIs of the data files, sorted.
func (l *liveFiles) names() []string { return slices.Sorted(maps.Keys(l.data)) }

// check returns an error if the files are not those of the record.
func (l *liveFiles) check(r *Record) error {
	//guard: refuses a table from which another program deleted rows
	if len(l.deletes) > 0 {
		return failure.New(failure.Foreign, "another program deleted rows of the table: %s", some(l.deletes))
	}
	names := l.names()
	//guard: refuses a table whose files another program changed
	if !r.holds(len(names), digest(names)) {
		return failure.New(failure.Foreign, "another program changed the table: its property %s names %d files, but it has %d%s", recordKey, r.Files, len(names), l.strange(r))
	}
	return nil
}

// strange describes files that are not of the record's outputs.
func (l *liveFiles) strange(r *Record) string {
	var strange []string
	found := make(map[string]bool)
	for _, name := range l.names() {
		if output, ok := source.Inside(r.Destination, name); ok && slices.Contains(r.Outputs, output) {
			found[output] = true
		} else {
			strange = append(strange, name)
		}
	}
	missing := slices.DeleteFunc(slices.Clone(r.Outputs), func(o string) bool { return found[o] })
	text := ""
	if len(strange) > 0 {
		text += "; files of no output: " + some(strange)
	}
	if len(missing) > 0 {
		text += "; no file of the outputs " + some(missing)
	}
	return text
}

// some lists the first names.
func some(names []string) string {
	const most = 3
	text := strings.Join(names[:min(len(names), most)], ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
