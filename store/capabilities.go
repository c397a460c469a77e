package store

import (
	"context"
	"io/fs"
)

// Capabilities say what a kind of store can do, and what that costs. The zero
// value is that of a store of which nothing is known.
type Capabilities struct {
	// Local is whether this machine itself reads and writes the files: that
	// keeps its processors busy, where for other storage they mostly wait, and
	// can do something else meanwhile.
	Local bool
	// Checksum returns the storage's own checksum of all bytes of a file, without
	// reading them; nil if the storage has none. The text begins with the name of
	// the algorithm and a colon. A file whose checksum and length are what they
	// were has the bytes that it had, by whichever client it is asked for. Another
	// checksum says little: it may be of another algorithm.
	//
	// After any error, errors.ErrUnsupported if no checksum is to be had of that
	// file, the text is empty, and the file is to be read instead. So no failure
	// is waited for, also by a store with patience.
	Checksum func(ctx context.Context, path string) (string, error)
	// Access tells who owns a file or directory, and SetMode, for its owner, says who
	// may do what with it. Both are nil if others share nothing with us there, or
	// cannot be kept out.
	Access  func(ctx context.Context, path string) (Access, error)
	SetMode func(ctx context.Context, path string, mode fs.FileMode) error
}

// Access is who may do what with a file or directory.
type Access struct {
	Owner string
	Mode  fs.FileMode // the permission bits alone
}

// CapabilitiesOf returns what a store says of itself by a method Capabilities.
// What wraps a store and is to have the same ones needs that method, too.
func CapabilitiesOf(st Store) Capabilities {
	if c, ok := st.(interface{ Capabilities() Capabilities }); ok {
		return c.Capabilities()
	}
	return Capabilities{}
}
