package store

// WithMeter returns a store that calls moved after each read of a file and each write to a
// new file, with the number of bytes. moved may be called concurrently.
func WithMeter(st Store, moved func(n int)) Store {
	return Intercept(st, func(c *Call) error {
		err := c.Do()
		if c.Op == OpReadAt || c.Op == OpWrite {
			moved(c.N)
		}
		return err
	})
}
