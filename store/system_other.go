//go:build !linux

package store

import "golang.org/x/sys/unix"

// renameNoReplace is not supported: the caller does it in several steps.
func (kernel) renameNoReplace(_, _ string) error { return unix.ENOSYS }

// allocate reserves nothing: a full disk fails while writing.
func allocate(_ int, _ int64) error { return nil }

// startWriteBack leaves all writing to Commit.
func startWriteBack(_ int, _, _ int64) {}
