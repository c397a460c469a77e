package cluster

import (
	"fmt"
	"time"

	"github.com/rowtocol/rowtocol/store"
)

const (
	// maxListing is the most bytes of a listing in memory. Some million files fit. Hadoop's
	// name nodes allow one million by default.
	maxListing = 1 << 30
	// entrySize is the approximate size of an entry without its name.
	entrySize = 128
)

// Listing bounds a name node's listing of a directory, page by page.
type Listing struct {
	pace      *Pace
	pageBytes int64 // bytes of the current page
	bytes     int64 // bytes of the pages before
}

// NewListing returns the bounds of a listing by a name node that may be silent for up to limit.
func NewListing(limit time.Duration) *Listing { return &Listing{pace: NewPace(limit)} }

// Add adds a name to the page.
func (l *Listing) Add(name string) { l.pageBytes += int64(len(name)) + entrySize }

// Page ends a page that took the given time, and returns an error if the listing must
// stop.
func (l *Listing) Page(took time.Duration) error {
	l.pace.Count(took, l.pageBytes)
	l.bytes += l.pageBytes
	l.pageBytes = 0
	switch {
	//guard: bounds the memory for a listing
	case l.bytes > maxListing:
		return fmt.Errorf("a listing of more than %d bytes: %w", maxListing, store.ErrUnavailable)
	//guard: bounds the time for a listing
	case l.pace.Left() == 0:
		return fmt.Errorf("a listing does not end: %w", l.pace.Err())
	}
	return nil
}
