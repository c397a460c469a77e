package tables

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/catalogs"
	"github.com/rowtocol/rowtocol/job/failure"
)

// tidy removes snapshots that cannot stay, and files of metadata that nothing names.
func (s *syncer) tidy(ctx context.Context) error {
	t, err := s.load(ctx)
	if err != nil || t == nil || t.CurrentSnapshot() == nil {
		return err
	}
	fs, err := t.FS(ctx)
	if err != nil {
		return catalogs.Judge(err)
	}
	gone, err := staleSnapshots(ctx, fs, t)
	if err != nil {
		return catalogs.Judge(fmt.Errorf("table %s: %w", s.Table, err))
	}
	if err := s.expire(ctx, t, gone); err != nil {
		return err
	}
	if s.committed && s.KeepMetadata > 0 {
		if err := s.sweep(ctx); err != nil {
			return catalogs.Judge(fmt.Errorf("metadata of table %s: %w", s.Table, err))
		}
	}
	return nil
}

// staleSnapshots returns a replaced file for each snapshot that has one.
func staleSnapshots(ctx context.Context, fs iceio.IO, t *table.Table) (map[int64]string, error) {
	fresh := freshSnapshots(t)
	gone := make(map[int64]string)
	var live *liveFiles
	known := make(map[string]string)
	for _, s := range t.Metadata().Snapshots() {
		if fresh[s.SnapshotID] {
			continue
		}
		if live == nil {
			var err error
			if live, err = readLive(ctx, fs, t.CurrentSnapshot()); err != nil {
				return nil, err
			}
		}
		name, err := staleFile(fs, s, live, known)
		if err != nil {
			return nil, err
		}
		if name != "" {
			gone[s.SnapshotID] = name
		}
	}
	return gone, nil
}

// freshSnapshots returns the current snapshot, and those since which files were added only. All
// their files are files of the current one.
func freshSnapshots(t *table.Table) map[int64]bool {
	fresh := make(map[int64]bool)
	for s := t.CurrentSnapshot(); s != nil; {
		fresh[s.SnapshotID] = true
		if s.Summary == nil || s.Summary.Operation != table.OpAppend || s.ParentSnapshotID == nil {
			break
		}
		s = t.SnapshotByID(*s.ParentSnapshotID)
	}
	return fresh
}

// staleFile returns a file of a snapshot that is not in live, or "". known has the result for
// each manifest that was read.
func staleFile(fs iceio.IO, s table.Snapshot, live *liveFiles, known map[string]string) (string, error) {
	manifests, err := s.Manifests(fs)
	if err != nil {
		return "", err
	}
	for _, m := range manifests {
		stale, ok := known[m.FilePath()]
		if !ok {
			for e, err := range m.Entries(fs, true) {
				if err != nil {
					return "", err
				}
				if name := e.DataFile().FilePath(); live.data[name] == nil {
					stale = name
				}
			}
			known[m.FilePath()] = stale
		}
		if stale != "" {
			return stale, nil
		}
	}
	return "", nil
}

// expire removes snapshots from the table: those in gone, and those beyond the number to keep.
func (s *syncer) expire(ctx context.Context, t *table.Table, gone map[int64]string) error {
	named := make(map[int64]string) // snapshots that a branch or a tag names
	for name, ref := range t.Metadata().Refs() {
		if name != table.MainBranch {
			named[ref.SnapshotID] = fmt.Sprintf("%s %q", ref.SnapshotRefType, name)
		}
	}
	kept := keptSnapshots(t, s.KeepSnapshots)
	var expired []int64
	var held error
	for _, snapshot := range t.Metadata().Snapshots() {
		id := snapshot.SnapshotID
		switch file, ref := gone[id], named[id]; {
		//guard: keeps a snapshot that a branch or a tag names
		case ref != "":
			if file != "" {
				held = failure.New(failure.Foreign, "the %s of table %s names a snapshot with the file %s, which was replaced and will be removed; remove the %[1]s", ref, s.Table, file)
			}
		case file != "" || !kept[id]:
			expired = append(expired, id)
		}
	}
	if len(expired) == 0 {
		return held
	}
	return errors.Join(s.removeSnapshots(ctx, t, expired), held)
}

// keptSnapshots returns the current snapshot and those before it, n in total; all snapshots if n
// is 0.
func keptSnapshots(t *table.Table, n int) map[int64]bool {
	kept := make(map[int64]bool)
	if n <= 0 {
		for _, s := range t.Metadata().Snapshots() {
			kept[s.SnapshotID] = true
		}
		return kept
	}
	for s := t.CurrentSnapshot(); s != nil && len(kept) < n; {
		kept[s.SnapshotID] = true
		if s.ParentSnapshotID == nil {
			break
		}
		s = t.SnapshotByID(*s.ParentSnapshotID)
	}
	return kept
}

// removeSnapshots commits the removal. If the table changes meanwhile, the next Sync removes
// them.
func (s *syncer) removeSnapshots(ctx context.Context, t *table.Table, expired []int64) error {
	requirements := []table.Requirement{table.AssertTableUUID(t.Metadata().TableUUID())}
	refs := maps.Collect(t.Metadata().Refs())
	for _, name := range slices.Sorted(maps.Keys(refs)) {
		id := refs[name].SnapshotID
		requirements = append(requirements, table.AssertRefSnapshotID(name, &id))
	}
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	_, _, err := s.catalog.CommitTable(ctx, s.name, requirements, []table.Update{table.NewRemoveSnapshotsUpdate(expired, false)})
	if err != nil {
		s.Log.Warn("snapshots stay until the next sync", "snapshots", len(expired), "error", err)
		return nil
	}
	s.result.Expired, s.committed = len(expired), true
	s.Log.Info("snapshots removed", "snapshots", len(expired))
	return nil
}
