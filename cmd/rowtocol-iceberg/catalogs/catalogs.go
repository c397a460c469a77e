package catalogs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	_ "github.com/apache/iceberg-go/catalog/glue"   // a catalog registers itself
	_ "github.com/apache/iceberg-go/catalog/hadoop" // a catalog registers itself
	_ "github.com/apache/iceberg-go/catalog/hive"   // a catalog registers itself
	"github.com/apache/iceberg-go/catalog/rest"
	"github.com/apache/iceberg-go/catalog/sql"
	iceio "github.com/apache/iceberg-go/io"
	"github.com/apache/iceberg-go/table"
	_ "modernc.org/sqlite" // the driver of the sql catalog

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

// Kinds are the kinds of catalogs.
var Kinds = []string{"sql", "rest", "hadoop", "hive", "glue"}

// Options name a catalog.
type Options struct {
	Kind string // one of Kinds
	// Name is the name of the catalog. In a SQLite file, catalogs of several names can be.
	Name      string
	URI       string
	Warehouse string
	// Properties are more properties, as iceberg-go and other programs know them: token,
	// credential, prefix, scope and so on.
	Properties map[string]string
}

// Catalog is an open catalog.
type Catalog struct {
	catalog.Catalog
	kind, warehouse string
}

// Open opens a catalog. The caller closes it.
func Open(ctx context.Context, o Options) (*Catalog, error) {
	if !slices.Contains(Kinds, o.Kind) {
		return nil, failure.New(failure.Usage, "catalog %q: there are the kinds %s", o.Kind, strings.Join(Kinds, ", "))
	}
	warehouse, err := o.warehouse()
	if err != nil {
		return nil, err
	}
	p := iceberg.Properties{}
	maps.Copy(p, o.Properties)
	maps.Copy(p, map[string]string{"type": o.Kind, "uri": o.URI, "warehouse": warehouse})
	switch o.Kind {
	case "sql":
		err = useSQLite(p)
	case "hadoop":
		// store.Rename never replaces, and HDFS renames in one step.
		p["allow-unsafe-commits"] = "true"
	}
	if err == nil {
		err = o.check(warehouse)
	}
	if err != nil {
		return nil, err
	}
	c, err := catalog.Load(ctx, o.Name, p)
	if err != nil {
		return nil, Judge(fmt.Errorf("catalog %s: %w", store.Showable(cmp.Or(o.URI, o.Warehouse, o.Kind)), err))
	}
	return &Catalog{c, o.Kind, warehouse}, nil
}

// check refuses options that lack a place.
func (o *Options) check(warehouse string) error {
	switch {
	case warehouse == "" && o.Kind != "rest" && o.Kind != "glue":
		return failure.New(failure.Usage, "a catalog of the kind %s needs a warehouse", o.Kind)
	case o.URI == "" && (o.Kind == "rest" || o.Kind == "hive"):
		return failure.New(failure.Usage, "a catalog of the kind %s needs a URI", o.Kind)
	}
	return nil
}

// warehouse returns the location of the warehouse, with a scheme, or the name by which a server
// knows it.
func (o *Options) warehouse() (string, error) {
	scheme, _ := store.Scheme(o.Warehouse)
	if o.Warehouse == "" || scheme != "" || o.Kind == "rest" || o.Kind == "glue" {
		return strings.TrimSuffix(o.Warehouse, "/"), nil
	}
	p, err := filepath.Abs(o.Warehouse)
	return "file://" + p, err
}

// useSQLite sets the properties of a SQLite file, which has the URI sqlite:///path, as in other
// programs.
func useSQLite(p iceberg.Properties) error {
	name := strings.TrimPrefix(p["uri"], "sqlite:///")
	//guard: refuses other databases (tests: ./tables)
	if name == "" || strings.Contains(name, "://") {
		return failure.New(failure.Usage, "catalog %q: the sql catalog is a SQLite file, such as sqlite:////data/catalog.db", p["uri"])
	}
	// SQLite says only that it cannot open the file, which may be for a time.
	dir := filepath.Dir(name)
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return failure.New(failure.Refused, "catalog %q: the directory %s does not exist: make it first, with mkdir -p", p["uri"], dir)
	}
	p["uri"] = "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(name) +
		"?_txlock=immediate&_pragma=busy_timeout(30000)&_pragma=synchronous(FULL)"
	p[sql.DriverKey], p[sql.DialectKey] = "sqlite", string(sql.SQLite)
	return nil
}

// Close closes the catalog.
func (c *Catalog) Close() error {
	if closer, ok := c.Catalog.(catalog.Closer); ok {
		return closer.Close()
	}
	return nil
}

// Location returns the place of a new table. It is empty if the catalog chooses the place.
func (c *Catalog) Location(name table.Identifier) string {
	if c.kind != "sql" {
		return ""
	}
	last := len(name) - 1
	scheme, p := store.Scheme(c.warehouse)
	p = path.Join(p, strings.Join(name[:last], ".")+".db", name[last])
	if scheme == "" {
		return p
	}
	return scheme + "://" + p
}

// Warehouse returns the location of the warehouse. It is empty if only the catalog knows it.
func (c *Catalog) Warehouse() string { return c.warehouse }

// EnsureNamespace makes the namespace of a table, if there is none.
func (c *Catalog) EnsureNamespace(ctx context.Context, name table.Identifier) error {
	namespace := catalog.NamespaceFromIdent(name)
	ok, err := c.CheckNamespaceExists(ctx, namespace)
	if ok || err != nil {
		return err
	}
	err = c.CreateNamespace(ctx, namespace, nil)
	//guard: accepts a namespace that another process makes at the same time
	if errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return nil
	}
	return err
}

// final are errors after which a retry does not help.
var final = []struct{ err, kind error }{
	{catalog.ErrInvalidIdentifier, failure.Usage},
	{catalog.ErrCatalogNotFound, failure.Usage},
	{iceio.ErrIOSchemeNotFound, failure.Usage},
	{rest.ErrOAuthError, failure.Refused},
	{rest.ErrForbidden, failure.Refused},
	{rest.ErrUnauthorized, failure.Refused},
	{rest.ErrBadRequest, failure.Refused},
}

// Judge gives an error of a catalog a kind. An error of an unknown cause is failure.Storage.
func Judge(err error) error {
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	for _, f := range final {
		if errors.Is(err, f.err) {
			return failure.As(f.kind, err)
		}
	}
	if err = failure.Judge(err); failure.HasKind(err) {
		return err
	}
	return failure.As(failure.Storage, err)
}
