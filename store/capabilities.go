package store

import (
	"context"
	"io/fs"
)

// Capabilities say what a kind of store can do, and what that costs. The zero value
// means that nothing is known of the store.
type Capabilities struct {
	// Local is whether this machine reads and writes the files itself, which keeps its
	// processors busy. With other storage they mostly wait and can do something else.
	Local bool
	// Checksum returns the storage's own checksum of all bytes of a file, without
	// reading them; nil if the storage has none. The text begins with the name of the
	// algorithm and a colon. If its checksum and length are unchanged, a file has the
	// same bytes, whichever client asks. A different checksum says little: its
	// algorithm may differ.
	//
	// After any error the text is empty, and the caller reads the file instead. The
	// error is errors.ErrUnsupported if the file has no checksum. No failure is waited
	// for, even by a store with patience.
	Checksum func(ctx context.Context, path string) (string, error)
	// Access returns the owner of a file or directory; SetMode, which only the owner
	// may call, sets its permissions. Both are nil if storage is not shared with other
	// users, or cannot keep them out.
	Access  func(ctx context.Context, path string) (Access, error)
	SetMode func(ctx context.Context, path string, mode fs.FileMode) error
}

// Access is the owner and the permissions of a file or directory.
type Access struct {
	Owner string
	Mode  fs.FileMode // only the permission bits
}

// CapabilitiesOf returns the result of a store's method Capabilities. A store that
// wraps another one needs that method to have the same capabilities.
func CapabilitiesOf(st Store) Capabilities {
	if c, ok := st.(interface{ Capabilities() Capabilities }); ok {
		return c.Capabilities()
	}
	return Capabilities{}
}
