package catalogs

import (
	"context"
	"errors"
	"testing"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/table"

	"github.com/rowtocol/rowtocol/job/failure"
)

// late is a catalog in which another process makes a namespace just before.
type late struct{ catalog.Catalog }

func (late) CheckNamespaceExists(context.Context, table.Identifier) (bool, error) { return false, nil }

func (late) CreateNamespace(context.Context, table.Identifier, iceberg.Properties) error {
	return catalog.ErrNamespaceAlreadyExists
}

func TestEnsureNamespace(t *testing.T) {
	c := &Catalog{Catalog: late{}}
	if err := c.EnsureNamespace(t.Context(), table.Identifier{"ns", "t"}); err != nil {
		t.Error(err)
	}
}

func TestLocation(t *testing.T) {
	for _, tt := range []struct{ kind, warehouse, want string }{
		{"sql", "file:///data/wh", "file:///data/wh/a.b.db/t"},
		{"sql", "hdfs://nn/wh", "hdfs://nn/wh/a.b.db/t"},
		{"hadoop", "file:///data/wh", ""},
		{"rest", "main", ""},
	} {
		c := &Catalog{kind: tt.kind, warehouse: tt.warehouse}
		if got := c.Location(table.Identifier{"a", "b", "t"}); got != tt.want {
			t.Errorf("%s in %s: %s, want %s", tt.kind, tt.warehouse, got, tt.want)
		}
	}
}

func TestWarehouse(t *testing.T) {
	t.Chdir("/tmp")
	for _, tt := range []struct{ kind, warehouse, want string }{
		{"sql", "wh", "file:///tmp/wh"},
		{"hadoop", "/data/wh/", "file:///data/wh"},
		{"hadoop", "hdfs://nn/wh/", "hdfs://nn/wh"},
		{"rest", "main", "main"},
		{"sql", "", ""},
	} {
		o := Options{Kind: tt.kind, Warehouse: tt.warehouse}
		if got, err := o.warehouse(); err != nil || got != tt.want {
			t.Errorf("%s in %q: %q, %v; want %q", tt.kind, tt.warehouse, got, err, tt.want)
		}
	}
}

func TestJudge(t *testing.T) {
	for _, tt := range []struct{ err, kind error }{
		{errors.New("what"), failure.Storage},
		{table.ErrCommitFailed, failure.Storage},
		{rest.ErrCommitStateUnknown, failure.Storage},
		{rest.ErrForbidden, failure.Refused},
		{catalog.ErrInvalidIdentifier, failure.Usage},
		{failure.New(failure.Foreign, "x"), failure.Foreign},
		{context.DeadlineExceeded, failure.Storage},
		{context.Canceled, nil},
		{nil, nil},
	} {
		if got := failure.KindOf(Judge(tt.err)); got != tt.kind {
			t.Errorf("%v: %v, want %v", tt.err, got, tt.kind)
		}
	}
}
