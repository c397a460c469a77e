package spill

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// file returns a column's open file and makes it the newest of those in use.
func (s *Spill) file(col int) (*os.File, error) {
	c := &s.cols[col]
	if c.f != nil {
		s.used.MoveToFront(c.use)
		return c.f, nil
	}
	// A spill may always have one file open, lest others starve it.
	for s.used.Len() > 0 && (s.open >= s.limit || s.folder.open.Load() >= s.folder.budget) {
		s.shutOldest()
	}
	name := s.name(col)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	for s.used.Len() > 0 && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) {
		s.shutOldest()
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	c.f = f
	s.open++
	s.folder.open.Add(1)
	c.use = s.used.PushFront(c)
	return f, nil
}

// shutOldest closes the file that was used longest ago. Its bytes have been handed to
// the kernel, which reports errors of writing them back to nobody who could use them:
// the reducer's check of the output finds what was lost.
func (s *Spill) shutOldest() {
	c := s.used.Remove(s.used.Back()).(*column)
	_ = c.f.Close()
	c.f = nil
	s.open--
	s.folder.open.Add(-1)
}
