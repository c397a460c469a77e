package hfile

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// samples returns the real files of testdata by name.
func samples(t testing.TB) map[string]file {
	t.Helper()
	names, err := filepath.Glob("testdata/*.hfile")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no samples", err)
	}
	files := map[string]file{}
	for _, name := range names {
		b, err := os.ReadFile(name)
		testenv.Must(t, err)
		files[strings.TrimSuffix(filepath.Base(name), ".hfile")] = b
	}
	return files
}

// goldenScans are the results of HBase's reader for the samples: the number of cells, and the
// SHA-256 of all cells.
var goldenScans = map[string]string{
	"hudi_1_0_hbase_2_4_13_16KB_GZ_20000_fake_first_key":             "20000 1ff299121a88f94d20ef115f9c34afe78bdc0530954eff2fd33829246adabf6e",
	"hudi_1_0_hbase_2_4_9_16KB_GZ_20000":                             "20000 b0bee55bfb12e79a82b972b5d331fb3d935c68fc17b3b609f0c2850540a1e9c3",
	"hudi_1_0_hbase_2_4_9_no_entry":                                  "0 e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
	"hudi_v8_hbase_writer_record_index":                              "1 c0d2846415a67555c80280fc072392892fa38f961d1a5b5d7be0467f21a4d446",
	"hudi_v9_native_files-0000-0_13-118-273_20260503194240497":       "4 2a2de5f3bf2c187a7724dc7a1a4a417b18d05cdca65b248e98e33d68ee0e3912",
	"hudi_v9_native_record-index-0004-0_5-118-265_20260503194240497": "1 ffc1660c1231e0fbd1f951b94e89dac57e25bba0a31aa507807dc544a9a05a01",
}

// putCell adds a cell to a sum as e2e/hfile/src/HFileOracle.java does.
func putCell(sum hash.Hash, key Key, value []byte) {
	put := func(b []byte) {
		sum.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b))))
		sum.Write(b)
	}
	put(key.Row())
	put(key.Family())
	put(key.Qualifier())
	sum.Write(append(binary.BigEndian.AppendUint64(nil, uint64(key.Timestamp())), byte(key.Type())))
	put(value)
}

// TestSamples checks the cells of real files, and seeks to keys that they have and do not have.
func TestSamples(t *testing.T) {
	for name, f := range samples(t) {
		r, err := f.open()
		if err != nil {
			t.Fatal(name, err)
		}
		if err := r.Verify(context.Background()); err != nil {
			t.Error(name, err)
		}
		if r.Unverified() != r.ByHudi() {
			t.Errorf("%s: blocks have no checksums: %v, written by Hudi: %v", name, r.Unverified(), r.ByHudi())
		}
		sum, n := sha256.New(), 0
		s, found := r.Scan(), r.Scan()
		var last []byte
		for ; s.Next(); n++ {
			putCell(sum, s.Key(), s.Value())
			if n%11 > 0 && n < 1000 || n%511 == 0 {
				checkSeek(t, found, s.Key(), last)
			}
			last = append(last[:0], s.Key().Row()...)
		}
		if got := fmt.Sprintf("%d %x", n, sum.Sum(nil)); s.Err() != nil || got != goldenScans[name] || r.Entries() != int64(n) {
			t.Errorf("%q: %q, // %v", name, got, s.Err())
		}
		if found.SeekRow([]byte("~")) || found.Err() != nil || found.Next() {
			t.Errorf("%s: found %s after the last cell, %v", name, found.Key(), found.Err())
		}
		s.Close()
		found.Close()
		r.Close()
	}
}

// checkSeek seeks to a cell, to its row, and to a row between that and the row before.
func checkSeek(t *testing.T, s *Scanner, key Key, before []byte) {
	t.Helper()
	if !s.Seek(key) || !bytes.Equal(s.Key(), key) {
		t.Fatalf("a seek to %s finds %s, %v", key, s.Key(), s.Err())
	}
	for _, row := range [][]byte{key.Row(), append(bytes.Clone(before), 0)} {
		if bytes.Compare(row, key.Row()) > 0 {
			continue
		}
		if !s.SeekRow(row) || !bytes.Equal(s.Key().Row(), key.Row()) {
			t.Fatalf("a seek to row %q finds %s, %v; expected %s", row, s.Key(), s.Err(), key)
		}
	}
}
