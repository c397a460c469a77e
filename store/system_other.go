//go:build !linux

package store

import "golang.org/x/sys/unix"

// renameNoReplace is not there: the caller does it in several steps.
func (kernel) renameNoReplace(_, _ string) error { return unix.ENOSYS }

// allocate takes nothing: that a disk is full is found out while writing.
func allocate(_ int, _ int64) error { return nil }

// beginWriting leaves all writing to Commit.
func beginWriting(_ int, _, _ int64) {}
