package cfile_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/formattest"
)

func mapping(t testing.TB, schema string) *shred.Mapping {
	t.Helper()
	s, err := shred.ParseSchema(schema)
	if err != nil {
		t.Fatal(err)
	}
	m, err := shred.Map(s, shred.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// source makes parts of rows.
func source(t testing.TB, f format.Format, chosen map[string][]string, schema string, rows [][]byte, blockSize int) formattest.Source {
	t.Helper()
	m := mapping(t, schema)
	var s *shred.Shredder
	return formattest.Source{
		Format: f, Options: formattest.Options(t, f, chosen), Schema: schema, Columns: m.Columns, BlockSize: blockSize, Rows: len(rows),
		Fill: func(bufs *column.Buffers, row int) {
			if row == 0 {
				s = shred.NewShredder(m, bufs)
			}
			if _, err := s.Row(rows[row]); err != nil {
				t.Fatal(err)
			}
		},
	}
}
