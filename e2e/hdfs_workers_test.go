package e2e

import (
	"hash/crc32"
	"io"
	"path/filepath"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// disturbedWorkers reads rows with several workers while data nodes hang or are killed.
func disturbedWorkers(t *testing.T, c *hadooptest.Cluster, st store.Store) {
	must(t, c.WaitLive(t.Context(), 3))
	dir := scratch(t, st)
	input := filepath.Join(t.TempDir(), "mail.avro")
	writeMail(t, input, 120_000)
	want := restOf(t, scanOf(t, store.Local(), input))
	for i, f := range []format.Format{trevni.Format, parquet.Format} {
		out := dir + "/" + f.Name()
		run(t, "convert", "--format="+f.Name(), "--row-group-size=4MiB", input, c.URI()+out).want(t, 0)
		victim := c.DataNodes[i]
		t.Run(f.Name()+", hung", func(t *testing.T) {
			rows := scanOf(t, st, out)
			defer suspend(t, victim)()
			wantRest(t, rows, want)
		})
		t.Run(f.Name()+", killed", func(t *testing.T) {
			rows := scanOf(t, st, out)
			victim.Kill()
			wantRest(t, rows, want)
			must(t, victim.Start(t.Context()))
		})
		t.Run(f.Name()+", closed", func(t *testing.T) {
			must(t, c.WaitLive(t.Context(), 3))
			rows := scanOf(t, st, out)
			for _, d := range c.DataNodes {
				defer suspend(t, d)()
			}
			must(t, wantWithin(t, "close", 0, func() error { rows.Close(); return nil }))
		})
	}
}

// checkedScan is rows that are read, and the CRC of those that were read.
type checkedScan struct {
	*dataset.Scan
	crc uint32
}

// scanOf begins to read rows with two workers.
func scanOf(t *testing.T, st store.Store, path string) *checkedScan {
	t.Helper()
	o := dataset.Options{Formats: format.Registry{trevni.Format, parquet.Format}}
	d, err := dataset.Open(t.Context(), []store.Location{{Store: st, Path: path}}, o)
	must(t, err)
	scan, err := d.Scan(t.Context(), dataset.Query{Limit: -1, Workers: 2})
	must(t, err)
	t.Cleanup(scan.Close)
	s := &checkedScan{Scan: scan}
	must(t, s.next())
	return s
}

func (s *checkedScan) next() error {
	row, err := s.Next(nil)
	s.crc = crc32.Update(s.crc, crc32.IEEETable, row)
	return err
}

// restOf reads the rest of the rows, and returns the CRC of all.
func restOf(t *testing.T, s *checkedScan) uint32 {
	t.Helper()
	var err error
	for err == nil {
		err = s.next()
	}
	if err != io.EOF {
		t.Error(err)
	}
	return s.crc
}

// wantRest fails the test unless the rest of the rows can be read although a data node is gone.
func wantRest(t *testing.T, s *checkedScan, want uint32) {
	t.Helper()
	must(t, wantWithin(t, "the rest of the rows", 4*nodeTimeout, func() error {
		if crc := restOf(t, s); crc != want {
			t.Errorf("the rows have the CRC %08x, want %08x", crc, want)
		}
		return nil
	}))
}
