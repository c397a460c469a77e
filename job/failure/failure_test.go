package failure_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
)

func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		err, kind error
	}{
		{nil, nil},
		{errors.New("a defect"), nil},
		{fmt.Errorf("write: %w", context.Canceled), nil},
		{damage.New(damage.Header, "f", 0, "no magic"), failure.Input},
		{fmt.Errorf("list: %w", fs.ErrNotExist), failure.Storage},
		{syscall.ENOSPC, failure.Storage},
		{fs.ErrExist, failure.Foreign},
		{store.ErrQuota, failure.Refused},
		{store.ErrScheme, failure.Usage},
		{failure.As(failure.Input, fs.ErrNotExist), failure.Input},
		{failure.As(failure.Usage, failure.New(failure.Locked, "locked")), failure.Locked},
		{fmt.Errorf("a: %w", failure.New(failure.Losses, "3 rows: %w", syscall.ENOSPC)), failure.Losses},
	} {
		if kind := failure.KindOf(tt.err); kind != tt.kind {
			t.Errorf("%v is of kind %v, want %v", tt.err, kind, tt.kind)
		}
		judged := failure.Judge(tt.err)
		if tt.kind != nil && (!errors.Is(judged, tt.kind) || !errors.Is(judged, tt.err) || judged.Error() != tt.err.Error()) {
			t.Errorf("Judge(%v) = %v", tt.err, judged)
		}
		if tt.kind == nil && judged != tt.err {
			t.Errorf("Judge(%v) = %v", tt.err, judged)
		}
	}
	if failure.As(failure.Input, nil) != nil {
		t.Error("As made an error of nil")
	}
}

// TestNames checks that each kind is found by its name, and how kinds compare.
func TestNames(t *testing.T) {
	// The kinds are in the order of Compare.
	kinds := []error{failure.Usage, failure.Input, failure.Foreign, failure.Refused, failure.Storage, failure.Locked, failure.Losses, failure.Different}
	before := error(nil)
	for _, kind := range kinds {
		if name := failure.Name(kind); failure.Named(name) != kind {
			t.Errorf("%v has the name %s, which is that of %v", kind, name, failure.Named(name))
		}
		if failure.Compare(before, kind) >= 0 || failure.Compare(kind, before) <= 0 {
			t.Errorf("%v does not sort before %v", before, kind)
		}
		before = kind
	}
	if name := failure.Name(nil); name != failure.Defect || failure.Named(name) != nil || failure.Compare(nil, nil) != 0 {
		t.Errorf("a defect has the name %s", name)
	}
}
