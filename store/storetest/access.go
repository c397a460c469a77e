package storetest

import (
	"io/fs"

	"github.com/rowtocol/rowtocol/store"
)

// testAccess tests stores that have owners and permissions.
func testAccess(e env) {
	c := store.CapabilitiesOf(e.st)
	if c.Access == nil {
		return
	}
	e.must(e.st.Mkdir(e.ctx, e.path("d")))
	e.write("d/f", []byte("file"))
	for name, mode := range map[string]fs.FileMode{"d": 0o700, "d/f": 0o500} {
		e.must(c.SetMode(e.ctx, e.path(name), mode))
		got, err := c.Access(e.ctx, e.path(name))
		e.must(err)
		if got.Mode != mode || got.Owner == "" {
			e.Errorf("%s has %+v, want mode %o", name, got, mode)
		}
	}
	_, err := c.Access(e.ctx, e.path("absent"))
	e.wantError(err, store.ErrNotExist)
	e.wantError(c.SetMode(e.ctx, e.path("absent"), 0o700), store.ErrNotExist)
}
