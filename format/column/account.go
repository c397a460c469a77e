package column

import "sync"

// Account accounts for large memory: blocks, and rows made from them.
type Account interface {
	// Reserve is called before n bytes are allocated. The operation that needs the bytes
	// returns its error.
	Reserve(n int64) error
	// Release is called when nothing refers to n bytes any more.
	Release(n int64)
}

// Unlimited is an Account of unlimited memory.
type Unlimited struct{}

// Reserve implements Account.
func (Unlimited) Reserve(int64) error { return nil }

// Release implements Account.
func (Unlimited) Release(int64) {}

// Reservation is one owner's share of another Account. It is an Account itself, and all
// that it holds can be released at once. It belongs to one goroutine.
type Reservation struct {
	Account Account
	Held    int64 // bytes that the owner has reserved
}

// Reserve implements Account. It returns the error of the other Account.
func (r *Reservation) Reserve(n int64) error {
	if err := r.Account.Reserve(n); err != nil {
		return err
	}
	r.Held += n
	return nil
}

// Release implements Account.
func (r *Reservation) Release(n int64) { r.ShrinkTo(r.Held - n) }

// ShrinkTo releases all but n bytes.
func (r *Reservation) ShrinkTo(n int64) {
	r.Account.Release(r.Held - n)
	r.Held = n
}

// Shared makes an Account, such as a Reservation, safe for concurrent use.
type Shared struct {
	mu      sync.Mutex
	account Account
}

// NewShared returns an Account that reserves and releases memory of another one.
func NewShared(account Account) *Shared { return &Shared{account: account} }

// Reserve implements Account.
func (s *Shared) Reserve(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.account.Reserve(n)
}

// Release implements Account.
func (s *Shared) Release(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.account.Release(n)
}
