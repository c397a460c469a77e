package column

// Account accounts for what is in memory and not small: blocks, and rows made of them.
type Account interface {
	// Reserve is called before so many bytes are allocated. Its error is that of
	// whoever wanted them.
	Reserve(n int64) error
	// Release is called when nothing refers to so many bytes any more.
	Release(n int64)
}

// Unlimited is an Account of memory without end.
type Unlimited struct{}

// Reserve implements Account.
func (Unlimited) Reserve(int64) error { return nil }

// Release implements Account.
func (Unlimited) Release(int64) {}

// Reservation is an Account of what one owner has of another, of which the rest is released
// as a whole. It belongs to one goroutine.
type Reservation struct {
	Of   Account
	Held int64 // bytes
}

// Reserve implements Account. Its error is that of the other.
func (r *Reservation) Reserve(n int64) error {
	if err := r.Of.Reserve(n); err != nil {
		return err
	}
	r.Held += n
	return nil
}

// Release implements Account.
func (r *Reservation) Release(n int64) { r.ShrinkTo(r.Held - n) }

// ShrinkTo releases all but so many bytes.
func (r *Reservation) ShrinkTo(n int64) {
	r.Of.Release(r.Held - n)
	r.Held = n
}
