package tables

import (
	"context"
	"path"
	"time"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/store"
)

// metadataName matches names of manifests, of lists of manifests, and of metadata.
var metadataName = lazyregexp.New(`^([0-9a-f-]{36}-m\d+\.avro|snap-\d+-.*\.avro|(v\d+|\d+-[0-9a-f-]{36})(\.gz)?\.metadata\.json)$`)

// sweep removes old files of metadata that nothing names. Killed and failed commits leave
// some, and so do snapshots that were removed.
func (s *syncer) sweep(ctx context.Context) error {
	t, err := s.load(ctx)
	if err != nil || t == nil {
		return err
	}
	at, err := s.Resolve(t.MetadataLocation())
	if err != nil {
		return nil //nolint:nilerr // the metadata is in a store that only the catalog reaches
	}
	dir := path.Dir(at.Path)
	infos, err := at.Store.List(ctx, dir)
	if err != nil {
		return err
	}
	old := s.oldFiles(infos)
	if len(old) == 0 {
		return nil
	}
	// Everything that is named now is named by this table, or is younger.
	named, err := namedFiles(ctx, t)
	if err != nil {
		return err
	}
	for _, name := range old {
		if named[name] {
			continue
		}
		if err := at.Store.Remove(ctx, path.Join(dir, name)); err != nil && !store.Absent(err) {
			return err
		}
		s.result.Swept++
	}
	if s.result.Swept > 0 {
		s.Log.Info("metadata removed", "files", s.result.Swept)
	}
	return nil
}

// oldFiles returns the names of files of metadata that are old by the clock of the storage, which
// is that of the newest file.
func (s *syncer) oldFiles(infos []store.Info) (names []string) {
	var now time.Time
	for _, info := range infos {
		if info.ModTime.After(now) {
			now = info.ModTime
		}
	}
	for _, info := range infos {
		if !info.Dir && metadataName.MatchString(info.Name) && now.Sub(info.ModTime) >= s.KeepMetadata {
			names = append(names, info.Name)
		}
	}
	return names
}

// namedFiles returns the names of all files of metadata that a table needs.
func namedFiles(ctx context.Context, t *table.Table) (map[string]bool, error) {
	named := map[string]bool{path.Base(t.MetadataLocation()): true}
	for entry := range t.Metadata().PreviousFiles() {
		named[path.Base(entry.MetadataFile)] = true
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return nil, err
	}
	snapshots := t.Metadata().Snapshots()
	lists := make([][]string, len(snapshots))
	err = parallel.Do(ctx, len(snapshots), manifestReaders, func(_ context.Context, i int) (err error) {
		lists[i], err = manifestNames(fs, &snapshots[i])
		return err
	})
	for i, list := range lists {
		named[path.Base(snapshots[i].ManifestList)] = true
		for _, name := range list {
			named[name] = true
		}
	}
	return named, err
}

func manifestNames(fs iceio.IO, s *table.Snapshot) (names []string, err error) {
	manifests, err := s.Manifests(fs)
	for _, m := range manifests {
		names = append(names, path.Base(m.FilePath()))
	}
	return names, err
}
