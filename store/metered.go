package store

// WithMeter returns st, but moved is told of every number of bytes that were read
// from its files or written to new ones. It may be called concurrently.
func WithMeter(st Store, moved func(n int)) Store {
	return Intercept(st, func(c *Call) error {
		err := c.Do()
		if c.Op == OpReadAt || c.Op == OpWrite {
			moved(c.N)
		}
		return err
	})
}
