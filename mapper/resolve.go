package mapper

import (
	"errors"
	"fmt"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// leastRow is the memory for a resolved row, in bytes. growRow takes more for a larger
// row.
const leastRow = 64 << 10

// resolveBy sets the resolution of the next rows. If it is nil, rows are not resolved.
func (t *task) resolveBy(by *shred.Resolution) {
	if by == t.resolution {
		return
	}
	t.resolution, t.resolver = by, shred.NewResolver(by, t.cfg.MaxInputBlock)
	if by != nil {
		t.resolver.SetMemory(t.resolved)
	}
}

// shredRow resolves and shreds a row, and takes the memory that the resolved row needs.
func (t *task) shredRow(s *shred.Shredder, rows []byte) (datum []byte, n int, err error) {
	for {
		datum, n, err = t.resolver.Shred(s, rows)
		if err == nil || !errors.Is(err, shred.ErrRoom) {
			return datum, n, err
		}
		if err := t.growRow(); err != nil {
			return nil, 0, err
		}
	}
}

// growRow takes more memory for a resolved row.
func (t *task) growRow() error {
	had, most := max(len(t.resolved), leastRow/4), t.resolver.Room()
	t.memory.Give(t.resolved)
	t.resolved = nil
	more, err := t.memory.take(min(4*had, most))
	if err != nil {
		// Half of the memory may be free.
		more, err = t.memory.take(min(2*had, most))
	}
	if err != nil {
		return fmt.Errorf("it resolves to a row of more than %d bytes: %w", had, err)
	}
	t.resolved = more
	t.resolver.SetMemory(more)
	return nil
}

// shrinkRow frees the memory of an unusually large row.
func (t *task) shrinkRow() {
	if len(t.resolved) > leastRow {
		t.memory.Give(t.resolved)
		t.resolved = nil
		t.resolver.SetMemory(nil)
	}
}
