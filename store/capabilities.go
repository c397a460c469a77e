package store

// Capabilities say what a kind of store can do, and what that costs. The zero
// value is that of a store of which nothing is known.
type Capabilities struct {
	// Local is whether this machine itself reads and writes the files: that
	// keeps its processors busy, where for other storage they mostly wait, and
	// can do something else meanwhile.
	Local bool
}

// CapabilitiesOf returns what a store says of itself by a method Capabilities.
// What wraps a store and is to have the same ones needs that method, too.
func CapabilitiesOf(st Store) Capabilities {
	if c, ok := st.(interface{ Capabilities() Capabilities }); ok {
		return c.Capabilities()
	}
	return Capabilities{}
}
