package spill

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// none is the end of the list of open files.
const none = -1

// file returns a column's open file and makes it the newest of the list.
func (s *Spill) file(col int) (*os.File, error) {
	c := &s.cols[col]
	if c.f != nil {
		if s.newest != col {
			s.unlink(col)
			s.link(col)
		}
		return c.f, nil
	}
	// A spill may always have one file open, lest others starve it.
	for s.oldest != none && (s.open >= s.limit || s.folder.open.Load() >= s.folder.budget) {
		s.shut(s.oldest)
	}
	name := s.name(col)
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	for s.oldest != none && (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) {
		s.shut(s.oldest)
		f, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("spill: %w", err)
	}
	c.f = f
	s.open++
	s.folder.open.Add(1)
	s.link(col)
	return f, nil
}

// shut closes a column's file. Its bytes have been handed to the kernel, which
// reports errors of writing them back to nobody who could use them: the
// reducer's check of the output finds what was lost.
func (s *Spill) shut(col int) {
	s.unlink(col)
	_ = s.cols[col].f.Close()
	s.cols[col].f = nil
	s.open--
	s.folder.open.Add(-1)
}

// link puts a column at the newest end of the list.
func (s *Spill) link(col int) {
	s.cols[col].newer, s.cols[col].older = none, s.newest
	if s.newest == none {
		s.oldest = col
	} else {
		s.cols[s.newest].newer = col
	}
	s.newest = col
}

// unlink takes a column out of the list.
func (s *Spill) unlink(col int) {
	c := &s.cols[col]
	if c.newer == none {
		s.newest = c.older
	} else {
		s.cols[c.newer].older = c.older
	}
	if c.older == none {
		s.oldest = c.newer
	} else {
		s.cols[c.older].newer = c.newer
	}
}
