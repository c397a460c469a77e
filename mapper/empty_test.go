package mapper_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/trevni"
)

// Rows and items that take no bytes are limited in each block. Nothing else limits what a
// few bytes stand for.
func TestEmptyRowsAndItems(t *testing.T) {
	const million = 1 << 20
	items := append(binary.AppendVarint(nil, million), 0) // an array of a million items without bytes
	for _, tt := range []struct {
		name, field string
		rows        int64
		row         []byte
		refused     string
	}{
		{"rows", `"null"`, million, nil, ""},
		{"too many rows", `"null"`, 16*million + 1, nil, "at most 16777216 are allowed"},
		{"items", `{"type":"array","items":"null"}`, 16, items, ""},
		{"too many items", `{"type":"array","items":"null"}`, 17, items, "more than 16777216 array items"},
		{"too many values", `{"type":"array","items":{"type":"fixed","name":"F","size":0}}`, 17, items, "more than 16777216 array items"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// There are two blocks: the limit applies to each.
			schema := `{"type":"record","name":"R","fields":[{"name":"a","type":` + tt.field + `},{"name":"b","type":{"type":"array","items":"null"}}]}`
			row := append(bytes.Clone(tt.row), 0)
			if tt.row == nil {
				schema, row = `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"fixed","name":"F","size":0}}]}`, nil
			}
			block := bytes.Repeat(row, int(tt.rows))
			src := source(t, "empty.avro", avrotest.File(t, schema, [16]byte{1}, tt.rows, block, block))
			cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
			stats, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
			if tt.refused == "" {
				if err != nil || stats.Rows != 2*tt.rows {
					t.Errorf("%d rows, %v", stats.Rows, err)
				}
				return
			}
			if d := (*damage.Error)(nil); !errors.As(err, &d) || d.Kind != damage.Count || d.File != "empty.avro" || !strings.Contains(err.Error(), tt.refused) {
				t.Errorf("got %v, want %s", err, tt.refused)
			}
		})
	}
}

// A row group ends before it has more items without bytes than readers accept.
func TestRowGroupsOfEmptyItems(t *testing.T) {
	const million, blocks = 1 << 20, 16
	row := append(binary.AppendVarint(nil, million), 0)
	all := make([][]byte, blocks)
	for i := range all {
		all[i] = bytes.Repeat(row, 16)
	}
	src := source(t, "empty.avro", avrotest.File(t, `{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"null"}}]}`, [16]byte{1}, 16, all...))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	var rows []int64
	_, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error {
		rows = append(rows, g.Rows)
		return g.Spill.Close()
	})
	if err != nil || !slices.Equal(rows, []int64{16*blocks - 1, 1}) {
		t.Errorf("row groups of %d rows, %v", rows, err)
	}
}
