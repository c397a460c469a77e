package tables

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/catalogs"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/datafile"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/fields"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/job/failure"
)

// vectorizationKey is the property that lets Spark read batches of columns.
const vectorizationKey = "read.parquet.vectorization.enabled"

// update is a transaction that makes a table hold what a source holds.
type update struct {
	s       *syncer
	t       *table.Table
	src     *source.Source
	live    *liveFiles
	add     *newFiles
	remove  []iceberg.DataFile
	changes []fields.Change
	record  *Record
	empty   bool // another program made the table, and it has no files
}

// update commits what a source holds. It returns false if the table holds it already.
func (s *syncer) update(ctx context.Context, t *table.Table, src *source.Source) (committed bool, err error) {
	u := &update{s: s, t: t, src: src, record: recordOf(src)}
	if current := t.CurrentSnapshot(); current != nil {
		s.result.Snapshot = current.SnapshotID
	}
	held, err := u.readTable(ctx)
	if err != nil || held {
		return false, err
	}
	if err := u.findFiles(ctx); err != nil {
		return false, err
	}
	if err := u.findChanges(); err != nil {
		return false, err
	}
	return true, u.commit(ctx)
}

// readTable reads what the table holds. It returns true if that is what the source holds.
func (u *update) readTable(ctx context.Context) (held bool, err error) {
	fs, err := u.t.FS(ctx)
	if err != nil {
		return false, catalogs.Judge(err)
	}
	if u.live, err = readLive(ctx, fs, u.t.CurrentSnapshot()); err != nil {
		return false, catalogs.Judge(fmt.Errorf("table %s: %w", u.s.Table, err))
	}
	r, err := parseRecord(u.t.Properties())
	switch {
	case err != nil:
		return false, err
	case r == nil:
		u.empty = true
		//guard: refuses a table that holds rows of another program
		if len(u.live.data)+len(u.live.deletes) > 0 {
			return false, failure.New(failure.Foreign, "table %s has no property %s, and %d files: another program made it", u.s.Table, recordKey, len(u.live.data))
		}
		return false, nil
	//guard: refuses the table of another destination
	case r.Destination != u.record.Destination:
		return false, failure.New(failure.Foreign, "table %s holds %s, not %s", u.s.Table, r.Destination, u.record.Destination)
	}
	return r.same(u.record), u.live.check(r)
}

// findFiles finds the files to add and to remove.
func (u *update) findFiles(ctx context.Context) (err error) {
	var add []*source.File
	wanted := make(map[string]bool, len(u.src.Files))
	for i := range u.src.Files {
		f := &u.src.Files[i]
		wanted[f.URI] = true
		if u.live.data[f.URI] == nil {
			add = append(add, f)
		}
	}
	for _, name := range u.live.names() {
		if !wanted[name] {
			u.remove = append(u.remove, u.live.data[name])
		}
	}
	u.add, err = u.s.readFooters(ctx, u.src, add)
	return err
}

// findChanges compares the columns and the partitions of new files with those of the table.
func (u *update) findChanges() (err error) {
	if len(u.add.files) == 0 {
		return nil
	}
	now := u.t.Schema().Fields()
	columns := u.add.columns
	keys := partitionKeys(columns, u.src.Keys)
	for _, name := range keys {
		if i := slices.IndexFunc(now, func(f iceberg.NestedField) bool { return f.Name == name }); i >= 0 {
			columns = append(columns, now[i])
		}
	}
	if err := u.checkSpec(keys); err != nil {
		return err
	}
	if u.changes, err = fields.Changes(now, columns); err != nil {
		return err
	}
	//guard: refuses to change the columns of a table that another program made
	if u.empty && len(u.changes) > 0 {
		return failure.New(failure.Foreign, "another program made the table %s, and its columns do not fit: %s", u.s.Table, strings.Join(describe(u.changes), "; "))
	}
	return nil
}

// checkSpec refuses a table that is not partitioned by these keys.
func (u *update) checkSpec(keys []string) error {
	spec, schema := u.t.Spec(), u.t.Schema()
	var by []string
	for _, p := range spec.Fields() {
		name, _ := schema.FindColumnName(p.SourceID())
		//guard: refuses partitions by parts of values, such as days
		if _, ok := p.Transform.(iceberg.IdentityTransform); !ok {
			name = p.Transform.String() + "(" + name + ")"
		}
		by = append(by, name)
	}
	//guard: refuses files of other partitions than those of the table
	if !slices.Equal(by, keys) {
		return failure.New(failure.Foreign, "table %s is partitioned by %q, %s by %q", u.s.Table, by, u.src.URI, keys)
	}
	return nil
}

// commit commits the transaction by one call of the catalog.
func (u *update) commit(ctx context.Context) error {
	txn, err := u.stage(ctx)
	if err != nil {
		return catalogs.Judge(fmt.Errorf("table %s: %w", u.s.Table, err))
	}
	c, err := txn.TableCommit()
	if err != nil {
		return catalogs.Judge(fmt.Errorf("table %s: %w", u.s.Table, err))
	}
	ctx, cancel := context.WithTimeout(ctx, u.s.CallTimeout)
	defer cancel()
	u.s.attempted = true
	meta, _, err := u.s.catalog.CommitTable(ctx, c.Identifier, c.Requirements, c.Updates)
	if err != nil {
		return catalogs.Judge(fmt.Errorf("commit table %s: %w", u.s.Table, err))
	}
	u.s.committed = true
	r := &u.s.result
	r.Added, r.Removed = r.Added+len(u.add.files), r.Removed+len(u.remove)
	r.Schema = append(r.Schema, describe(u.changes)...)
	if current := meta.CurrentSnapshot(); current != nil {
		r.Snapshot = current.SnapshotID
	}
	u.s.Log.Info("committed", "snapshot", r.Snapshot, "added", len(u.add.files), "removed", len(u.remove), "schema", describe(u.changes))
	return nil
}

// stage returns the transaction.
func (u *update) stage(ctx context.Context) (*table.Transaction, error) {
	txn := u.t.NewTransaction() // it requires that the snapshot is the one that was read
	if len(u.changes) > 0 {
		change := txn.UpdateSchema(true, false)
		fields.Apply(change, u.changes)
		if err := change.Commit(); err != nil {
			return nil, failure.As(failure.Input, err)
		}
	}
	staged, err := txn.StagedTable()
	if err != nil {
		return nil, err
	}
	mapping, err := json.Marshal(staged.Schema().NameMapping())
	if err != nil {
		return nil, err
	}
	properties := iceberg.Properties{recordKey: u.record.text(), table.DefaultNameMappingKey: string(mapping)}
	if slices.ContainsFunc(u.add.footers, func(f *pq.FileMetaData) bool { return fields.HasByteDecimals(f.Schema) }) {
		properties[vectorizationKey] = "false"
	}
	if err := txn.SetProperties(properties); err != nil {
		return nil, err
	}
	add, err := u.dataFiles(staged.Schema(), staged.Spec())
	if err != nil || len(add)+len(u.remove) == 0 {
		return txn, err
	}
	// The files of the table were just read, and the snapshot is pinned.
	return txn, txn.ReplaceDataFilesWithDataFiles(ctx, u.remove, add, nil, table.WithoutAutoNameMapping(), table.WithoutDuplicateCheck())
}

// dataFiles returns the entries of the new files.
func (u *update) dataFiles(schema *iceberg.Schema, spec iceberg.PartitionSpec) ([]iceberg.DataFile, error) {
	list := make([]iceberg.DataFile, len(u.add.files))
	for i, f := range u.add.files {
		partition := make(map[int]any)
		for _, p := range spec.Fields() {
			column, _ := schema.FindFieldByID(p.SourceID())
			value, err := fields.KeyValue(key(f, column.Name), column.Type)
			if err != nil {
				return nil, err
			}
			partition[p.FieldID] = value
		}
		var err error
		list[i], err = datafile.New(&datafile.File{URI: f.URI, Bytes: f.Bytes, Partition: partition, Footer: u.add.footers[i]}, schema, spec)
		if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// describe returns changes in words.
func describe(changes []fields.Change) []string {
	texts := make([]string, len(changes))
	for i, c := range changes {
		path := strings.Join(c.Path, ".")
		switch {
		case c.Add != nil:
			texts[i] = fmt.Sprintf("new column %s %s", path, c.Add)
		case c.Promote != nil && c.Optional:
			texts[i] = fmt.Sprintf("column %s becomes optional %s", path, c.Promote)
		case c.Promote != nil:
			texts[i] = fmt.Sprintf("column %s becomes %s", path, c.Promote)
		default:
			texts[i] = fmt.Sprintf("column %s becomes optional", path)
		}
	}
	return texts
}
