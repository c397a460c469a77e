package store

import (
	"context"
	"io/fs"
)

// Capabilities say what a kind of store can do, and what that costs. The zero value
// means that nothing is known of the store.
type Capabilities struct {
	// Local is whether this machine reads and writes the files itself. This keeps its
	// processors busy. With other storage the processors are mostly idle.
	Local bool
	// Checksum returns the storage's own checksum of all bytes of a file, without
	// reading them. It is nil if the storage has no checksums. The text begins with the
	// name of the algorithm and a colon. A file whose checksum and length are unchanged has
	// the same bytes. If the checksum differs, the bytes may be the same all the same,
	// because the algorithm may differ.
	//
	// After any error the text is empty, and the caller reads the file instead. The
	// error is errors.ErrUnsupported if the file has no checksum. The call is not retried,
	// even by a store with patience.
	Checksum func(ctx context.Context, path string) (string, error)
	// Access returns the owner and permissions of a file or directory. SetMode sets the
	// permissions. Only the owner may call SetMode. Both are nil if storage is not shared
	// with other users, or cannot keep them out.
	Access  func(ctx context.Context, path string) (Access, error)
	SetMode func(ctx context.Context, path string, mode fs.FileMode) error
}

// Access is the owner and the permissions of a file or directory.
type Access struct {
	Owner string
	Mode  fs.FileMode // only the permission bits
}

// CapabilitiesOf returns the result of a store's method Capabilities, or zero if the store
// does not have the method. So a store that wraps another store must have it.
func CapabilitiesOf(st Store) Capabilities {
	if c, ok := st.(interface{ Capabilities() Capabilities }); ok {
		return c.Capabilities()
	}
	return Capabilities{}
}
