package dataset

import (
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// wholeRows are the rows of a part that stores whole rows.
type wholeRows [][]byte

func (r *wholeRows) Next() (datum []byte, err error) {
	if len(*r) == 0 {
		return nil, io.EOF
	}
	datum, *r = (*r)[0], (*r)[1:]
	return datum, nil
}

func (*wholeRows) Close() {}

// A row that is stored whole must end with its last value.
func TestWholeRowsWithBytesLeft(t *testing.T) {
	rows := &partRows{part: &OpenPart{name: "f"}, rows: &wholeRows{{2}, {4, 6}, {8}}}
	first := func([]byte) (int, error) { return 1, nil }
	testenv.Must(t, rows.next(t.Context(), first))
	err := rows.next(t.Context(), first)
	if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != damage.Trailing || d.File != "f" || d.Row != 1 {
		t.Errorf("bytes after the values: %v", err)
	}
}
