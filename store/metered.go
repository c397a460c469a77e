package store

// WithMeter returns a store that calls moved with the number of bytes of each read from
// its files and write to new ones. moved may be called concurrently.
func WithMeter(st Store, moved func(n int)) Store {
	return Intercept(st, func(c *Call) error {
		err := c.Do()
		if c.Op == OpReadAt || c.Op == OpWrite {
			moved(c.N)
		}
		return err
	})
}
