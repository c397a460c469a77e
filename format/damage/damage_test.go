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
		file string // of the damage; "" if there is none
	}{
		{nil, ""},
		{errors.New("no damage"), ""},
		{damage.New(damage.Size, "", 5, "cut"), "named"},
		{damage.New(damage.Size, "other", 5, "cut"), "other"},
		{fmt.Errorf("read: %w", damage.New(damage.Size, "", 5, "cut")), "named"},
	} {
		ok := damage.SetFile(c.err, "named")
		var d *damage.Error
		if ok != (c.file != "") || errors.As(c.err, &d) != ok || ok && d.File != c.file {
			t.Errorf("%v: %v, %+v; want the file %q", c.err, ok, d, c.file)
		}
	}
}
