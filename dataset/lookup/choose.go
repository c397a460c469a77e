package lookup

import (
	"slices"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset"
)

// RangeFunc is a request: it returns the range of keys to find in an index with the given fields.
// It fails if the request does not fit the fields.
type RangeFunc func(*rowkey.Spec) (rowkey.Range, error)

// Choose returns the fields of the index of a dataset that all requests fit. If there are no
// requests, or if they fit no index or several, it returns "", which Open accepts. It considers
// the indexes of the first output that has indexes.
func Choose(d *dataset.Dataset, asks []RangeFunc) (fields string) {
	for _, r := range d.Outputs() {
		all := indexes(&r)
		if len(all) == 0 {
			continue
		}
		schema, err := shred.ParseSchema(r.Schema())
		if err != nil || len(asks) == 0 {
			return ""
		}
		for _, x := range all {
			spec, err := rowkey.Parse(schema, x.Fields)
			if err != nil || slices.ContainsFunc(asks, func(ask RangeFunc) bool { _, err := ask(spec); return err != nil }) {
				continue
			}
			if fields != "" {
				return ""
			}
			fields = x.Fields
		}
		return fields
	}
	return ""
}
