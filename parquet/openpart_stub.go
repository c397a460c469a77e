package parquet

import (
	"errors"

	"github.com/rowtocol/rowtocol/format"
)

func openPart(_ []format.File, _ format.OpenOptions) (format.Part, error) {
	return nil, errors.New("parquet: not readable yet")
}
