package damage_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
)

func TestSetFile(t *testing.T) {
	for _, c := range []struct {
		err  error
		file string // of the damage; "" where there is none
	}{
		{nil, ""},
		{errors.New("no damage"), ""},
		{damage.New(damage.Size, "", 5, "cut"), "named"},
		{damage.New(damage.Size, "other", 5, "cut"), "other"},
		{fmt.Errorf("read: %w", damage.New(damage.Size, "", 5, "cut")), "named"},
	} {
		is := damage.SetFile(c.err, "named")
		var d *damage.Error
		if is != (c.file != "") || errors.As(c.err, &d) != is || is && d.File != c.file {
			t.Errorf("%v: %v, %+v; want the file %q", c.err, is, d, c.file)
		}
	}
}
