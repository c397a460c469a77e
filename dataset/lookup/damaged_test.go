package lookup_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/rowkey"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/lookup"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/hfile"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// rewriteIndex replaces the index of a dataset by one of the same size whose keys all lead to one row.
func rewriteIndex(t *testing.T, d *dataset.Dataset, task, group, row uint32) {
	t.Helper()
	run := d.Outputs()[0]
	name := filepath.Join(run.Path, run.Index[0].Name)
	whole, err := os.ReadFile(name)
	testenv.Must(t, err)
	r, err := hfile.Open(bytes.NewReader(whole), int64(len(whole)), hfile.OpenOptions{})
	testenv.Must(t, err)
	info := slices.DeleteFunc(slices.Clone(r.Info()), func(p hfile.Pair) bool { return !strings.HasPrefix(p.Key, "rowtocol.") })
	var b bytes.Buffer
	w, err := hfile.NewWriter(&b, hfile.WriterOptions{RowBloom: true, Info: info})
	testenv.Must(t, err)
	position := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, task), group), row)
	s := r.Scan()
	defer s.Close()
	for s.Next() {
		testenv.Must(t, w.Append(hfile.AppendKey(nil, s.Key().Row(), nil, position, hfile.LatestTimestamp, hfile.Put), nil))
	}
	testenv.Must(t, errors.Join(s.Err(), w.Close()))
	if b.Len() != len(whole) {
		t.Fatalf("got %d bytes, want %d", b.Len(), len(whole))
	}
	testenv.Must(t, os.WriteFile(name, b.Bytes(), 0o666))
}

// TestKeysThatLeadElsewhere has an intact index whose keys lead to missing or wrong rows.
func TestKeysThatLeadElsewhere(t *testing.T) {
	for name, at := range map[string]struct {
		task, group, row uint32
		reason           string
	}{
		"no such task":  {7, 0, 0, "does not exist"},
		"no such group": {0, 7, 0, "does not exist"},
		"no such row":   {0, 0, 50, "does not exist"},
		"the same row":  {0, 0, 0, "two keys"},
	} {
		d := newDataset(t, 50, manifest.Options{Index: []string{"id"}})
		rewriteIndex(t, d, at.task, at.group, at.row)
		all := func(*rowkey.Spec) (rowkey.Range, error) { return rowkey.Range{}, nil }
		_, one := openIndex(t, d, "").Find(t.Context(), all)
		_, many := openIndex(t, d, "").FindAll(t.Context(), []lookup.RangeFunc{exactly("-1"), all})
		for _, err := range []error{one, many} {
			var found *damage.Error
			if !errors.As(err, &found) || !strings.Contains(err.Error(), at.reason) || filepath.Base(filepath.Dir(found.File)) != "id" {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
