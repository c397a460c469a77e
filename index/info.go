package index

import (
	"encoding/binary"

	"github.com/rowtocol/rowtocol/damage"
	"github.com/rowtocol/rowtocol/hfile"
)

// Keys of the file info of runs and of files of an index.
const (
	infoFields = "rowtocol.index"
	infoNulls  = "rowtocol.nulls"
)

// nullsPair says how many rows have no key.
func nullsPair(n int64) hfile.Pair {
	return hfile.Pair{Key: infoNulls, Value: binary.BigEndian.AppendUint64(nil, uint64(n))}
}

// nullsOf is how many rows have no key, by the file info; 0 if it does not say.
func nullsOf(r *hfile.Reader) (int64, error) {
	v := r.Info().Value(infoNulls)
	if v == nil {
		return 0, nil
	}
	//guard: a number would be read of what is none
	if len(v) != 8 || v[0] >= 0x80 {
		return 0, damage.New(damage.Value, r.Name(), r.Trailer().FileInfo, "%s is % x", infoNulls, v)
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}
