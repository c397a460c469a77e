package index

import (
	"bytes"
	"encoding/binary"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// Keys of the file info of side files and of files of an index; side files have no fingerprint.
const (
	infoFields      = "rowtocol.index"
	infoNulls       = "rowtocol.nulls"
	infoFingerprint = "rowtocol.fingerprint"
)

// fieldsPair returns the info pair with the fields of the keys.
func fieldsPair(fields string) hfile.Pair {
	return hfile.Pair{Key: infoFields, Value: []byte(fields)}
}

// nullsPair returns the info pair with the number of rows that have no key.
func nullsPair(n int64) hfile.Pair {
	return hfile.Pair{Key: infoNulls, Value: binary.BigEndian.AppendUint64(nil, uint64(n))}
}

// nullsOf returns the number of rows that have no key, from the file info; 0 if it is missing.
func nullsOf(r *hfile.Reader) (int64, error) {
	v := r.Info().Value(infoNulls)
	if v == nil {
		return 0, nil
	}
	//guard: rejects a non-number
	if len(v) != 8 || v[0] >= 0x80 {
		return 0, damage.New(damage.Value, r.Name(), r.Trailer().FileInfo, "%s is % x", infoNulls, v)
	}
	return int64(binary.BigEndian.Uint64(v)), nil
}

// check requires that an open file is the one that the manifest lists.
func (x *Index) check(r *hfile.Reader, listed *manifest.File) error {
	wrong := func(reason string, args ...any) error {
		return damage.New(damage.Value, r.Name(), r.Trailer().FileInfo, reason, args...)
	}
	//guard: rejects the index of other fields
	if fields := string(r.Info().Value(infoFields)); fields != x.Fields {
		return wrong("the file is of the index %q, not of %q", fields, x.Fields)
	}
	//guard: rejects the index of another output
	if string(r.Info().Value(infoFingerprint)) != x.Fingerprint {
		return wrong("the file is an index of other row groups than those of the output")
	}
	var last []byte
	if k := r.LastKey(); k != nil {
		last = k.Row()
	}
	//guard: rejects a number of entries or a last key that differs from the manifest's
	if r.Entries() != listed.Keys.Entries || !bytes.Equal(last, listed.Keys.Last) {
		return wrong("the file has %d keys up to %x, the manifest says %d up to %x", r.Entries(), last, listed.Keys.Entries, listed.Keys.Last)
	}
	return nil
}
