package tables

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/catalogs"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/fields"
	"github.com/rowtocol/rowtocol/cmd/rowtocol-iceberg/source"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// create creates the table, without files. If another program creates it at the same time,
// the error is one after which another try may help.
func (s *syncer) create(ctx context.Context, src *source.Source) (*table.Table, error) {
	read, err := s.readFooters(ctx, src, all(src))
	if err != nil {
		return nil, err
	}
	columns := read.columns
	keys := partitionKeys(columns, src.Keys)
	for _, name := range keys {
		columns = append(columns, iceberg.NestedField{Name: name, Type: fields.KeyType(keyValues(src, name))})
	}
	schema := fields.Schema(columns)
	spec := iceberg.NewPartitionSpec(identity(schema, keys)...)
	ctx, cancel := context.WithTimeout(ctx, s.CallTimeout)
	defer cancel()
	if err := s.catalog.EnsureNamespace(ctx, s.name); err != nil {
		return nil, catalogs.Judge(fmt.Errorf("namespace of table %s: %w", s.Table, err))
	}
	options := []catalog.CreateTableOpt{
		catalog.WithPartitionSpec(&spec),
		catalog.WithProperties(iceberg.Properties{
			table.PropertyFormatVersion: "2",
			// As in Java. iceberg-go merges manifests only if it is told to.
			table.ManifestMergeEnabledKey: "true",
			recordKey:                     newRecord(src.URI, []string{}, nil).text(),
		}),
	}
	if location := s.catalog.Location(s.name); location != "" {
		options = append(options, catalog.WithLocation(location))
	}
	s.attempted = true
	t, err := s.catalog.CreateTable(ctx, s.name, schema, options...)
	if err != nil {
		return nil, failure.As(failure.Storage, catalogs.Judge(fmt.Errorf("create table %s: %w", s.Table, err)))
	}
	s.result.Created = true
	s.Log.Info("table created", "location", t.Location())
	return t, nil
}

func all(src *source.Source) []*source.File {
	list := make([]*source.File, len(src.Files))
	for i := range src.Files {
		list[i] = &src.Files[i]
	}
	return list
}

// partitionKeys returns the keys of directories that are not columns of the files.
func partitionKeys(columns []iceberg.NestedField, keys []string) []string {
	return slices.DeleteFunc(slices.Clone(keys), func(key string) bool {
		return slices.ContainsFunc(columns, func(f iceberg.NestedField) bool { return f.Name == key })
	})
}

// keyValues returns the values of a key, one for each file.
func keyValues(src *source.Source, name string) (values []manifest.Key) {
	for i := range src.Files {
		values = append(values, key(&src.Files[i], name))
	}
	return values
}

// key returns the key of a file with a name.
func key(f *source.File, name string) manifest.Key {
	i := slices.IndexFunc(f.Keys, func(k manifest.Key) bool { return k.Name == name })
	return f.Keys[i]
}

// identity returns the fields of a partition spec for columns.
func identity(schema *iceberg.Schema, keys []string) (all []iceberg.PartitionField) {
	const first = 1000 // the IDs of partition fields begin at 1000
	for i, name := range keys {
		f, _ := schema.FindFieldByName(name)
		all = append(all, iceberg.PartitionField{
			SourceIDs: []int{f.ID}, FieldID: first + i, Name: name, Transform: iceberg.IdentityTransform{},
		})
	}
	return all
}
