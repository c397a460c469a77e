package encoding

import (
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/format/damage"
)

// header has the number of values and the ordinal from a block's header, and the
// number of values that are unread.
type header struct {
	count   int
	ordinal uint32
	left    int
}

func newHeader(count, ordinal uint32) header {
	return header{count: int(count), ordinal: ordinal, left: int(count)}
}

func (h *header) Count() int      { return h.count }
func (h *header) Ordinal() uint32 { return h.ordinal }

// checkLeft returns damage if fewer than n values are left.
func (h *header) checkLeft(n int) error {
	//guard: refuses to skip more values than are left
	if n < 0 || n > h.left {
		return damaged(damage.Count, 0, "%d values are to be skipped, but %d of %d are left", n, h.left, h.count)
	}
	return nil
}

// damaged returns damage at an offset in the body.
func damaged(kind damage.Kind, offset int, reason string, args ...any) error {
	return damage.New(kind, "", int64(offset), reason, args...)
}

// shifted returns err with an offset in the outer body. err is an error of a body that begins at
// the offset by in the outer body.
func shifted(err error, by int64) error {
	if err == nil || err == io.EOF {
		return err
	}
	var e *damage.Error
	if errors.As(err, &e) && e.Offset >= 0 {
		e.Offset += by
	}
	return err
}
