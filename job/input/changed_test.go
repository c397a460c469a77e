package input

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// TestChangesWhileRead checks that the error is failure.Input if a file changes while it is
// open.
func TestChangesWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a")
	testenv.Must(t, os.WriteFile(path, make([]byte, 100), 0o666))
	gone := storetest.NewFaulty(store.Local(), storetest.Fault{Op: storetest.ReadAt, N: 2, Err: store.ErrNotExist})
	resolve := func(string) (store.Location, error) { return store.Location{Store: gone, Path: path}, nil }
	f, err := OpenNamed(t.Context(), resolve, path)
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	buf := make([]byte, 60)
	if n, err := f.ReadAt(buf[:40], 60); n != 40 || failure.KindOf(err) != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if _, err := f.ReadAt(buf, 0); failure.KindOf(err) != failure.Input {
		t.Errorf("read a removed file: %v", err)
	}
	testenv.Must(t, os.Truncate(path, 50))
	if n, err := f.ReadAt(buf, 0); n != 50 || failure.KindOf(err) != failure.Input {
		t.Errorf("read a truncated file: %d bytes, %v", n, err)
	}
	if _, err := f.ReadAt(buf, 100); failure.KindOf(err) != nil {
		t.Errorf("read at the end of the file: %v", err)
	}
}

// TestChangedSince checks that Open and Check refuse a file that changed after it was
// described.
func TestChangedSince(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.avro")
	var file bytes.Buffer
	w, err := ocf.NewWriter(&file, `{"type":"record","name":"R","fields":[{"name":"id","type":"long"}]}`, "null", [16]byte{1})
	if err == nil {
		err = w.AppendBlock(2, []byte{2, 4})
	}
	if err == nil {
		err = os.WriteFile(path, file.Bytes(), 0o666)
	}
	testenv.Must(t, err)
	in := describe(t, path)
	longer := bytes.Clone(file.Bytes())
	other := bytes.Clone(file.Bytes())
	other[len(other)-17] ^= 8 // a byte of the last row
	for _, tt := range []struct {
		name         string
		data         []byte
		opens, valid bool
	}{
		{"unchanged", file.Bytes(), true, true},
		{"longer", append(longer, 0), false, false},
		{"another row", other, false, false},
	} {
		testenv.Must(t, os.WriteFile(path, tt.data, 0o666))
		f, _, err := Open(t.Context(), nil, in)
		if err == nil {
			_ = f.Close()
		}
		checked := checkRead(t, nil, in)
		if (err == nil) != tt.opens || (checked == nil) != tt.valid {
			t.Errorf("%s: open: %v, check: %v", tt.name, err, checked)
		}
		for _, err := range []error{err, checked} {
			if err != nil && failure.KindOf(err) != failure.Input {
				t.Errorf("%s: %v is of kind %v", tt.name, err, failure.KindOf(err))
			}
		}
	}
}
