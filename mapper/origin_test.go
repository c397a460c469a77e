package mapper_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
)

// picky is a format that rejects negative longs, in the step that at names. Its error
// has the row unless it is blind.
type picky struct {
	split
	at    string
	blind bool
}

func (p picky) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	g, err := p.split.NewRowGroup(schema, cols, blockSize)
	return &pickyGroup{g, p}, err
}

type pickyGroup struct {
	format.RowGroup
	picky
}

type pickyJob struct {
	format.EncodeJob
	picky
	block *column.Block
}

func (p picky) check(at string, b *column.Block) error {
	for data, row := b.Data, b.FirstRow; at == p.at && len(data) > 0; row++ {
		v, n := binary.Varint(data)
		if v < 0 {
			err := damage.New(damage.Unsupported, "", -1, "%d", v)
			if !p.blind {
				err.Row = row
			}
			return fmt.Errorf("picky: %w", err)
		}
		data = data[n:]
	}
	return nil
}

func (g *pickyGroup) Begin(col int, b *column.Block) (format.EncodeJob, error) {
	job, err := g.RowGroup.Begin(col, b)
	if err == nil {
		err = g.check("begin", b)
	}
	return &pickyJob{job, g.picky, b}, err
}

func (j *pickyJob) Encode(dst []byte) ([]byte, error) {
	if err := j.check("encode", j.block); err != nil {
		return dst, err
	}
	return j.EncodeJob.Encode(dst)
}

func (g *pickyGroup) End(col int, job format.EncodeJob, stored int) error {
	j := job.(*pickyJob)
	if err := g.check("end", j.block); err != nil {
		return err
	}
	return g.RowGroup.End(col, j.EncodeJob, stored)
}

// If a format rejects a value, the error has its location in the input, in any row
// group.
func TestUnfitValuesAreLocated(t *testing.T) {
	var blocks []avrotest.Block
	for block := range 40 {
		var data []byte
		for row := range 100 {
			v := int64(1) << 40
			if block == 33 && row == 66 {
				v = -1
			}
			data = binary.AppendVarint(data, v)
		}
		blocks = append(blocks, avrotest.Block{Rows: 100, Data: data})
	}
	file := avrotest.Make(t, `{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}`, "null", blocks...)
	src := source(t, "in.avro", file)
	var offset int64
	s := ocf.NewScanner(src.R, src.Size, src.Name, src.Header, src.Range)
	for range 34 {
		var b ocf.Block
		testenv.Must(t, s.Next(t.Context(), &b))
		offset = b.Offset
	}
	for _, at := range []string{"begin", "encode", "end"} {
		for _, group := range []int64{1 << 20, 5000, 900} {
			cfg := config(t, src, picky{at: at})
			cfg.RowGroupSize, cfg.BlockSize = group, 256
			_, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
			var d *damage.Error
			if !errors.As(err, &d) || d.File != "in.avro" || d.Offset != offset || d.Row != 66 || d.Reason != "-1" ||
				!strings.Contains(err.Error(), fmt.Sprintf("in.avro: row 66 of the block at offset %d: unsupported: -1", offset)) {
				t.Errorf("%s, row groups of %d: %v, want row 66 of the block at %d", at, group, err, offset)
			}
			cfg.Writer = picky{at: at, blind: true}
			_, err = mapper.Run(t.Context(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
			if !errors.As(err, &d) || d.File != "in.avro" || d.Offset > offset || d.Reason == "-1" {
				t.Errorf("%s, row groups of %d: %v, want a row before row 66 of the block at %d", at, group, err, offset)
			}
		}
	}
}

// The memory for the origins of rows does not grow with the number of input blocks.
func TestOriginsAreFew(t *testing.T) {
	const blocks = 100_000
	var all []avrotest.Block
	for row := range blocks {
		v := int64(1)
		if row == blocks-7 {
			v = -1
		}
		all = append(all, avrotest.Block{Rows: 1, Data: binary.AppendVarint(nil, v)})
	}
	file := avrotest.Make(t, `{"type":"record","name":"r","fields":[{"name":"id","type":"long"}]}`, "null", all...)
	src := source(t, "in.avro", file)
	cfg := config(t, src, picky{at: "encode"})
	cfg.RowGroupSize = 1 << 30
	_, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error { return g.Spill.Close() })
	var d *damage.Error
	if !errors.As(err, &d) || d.File != "in.avro" {
		t.Fatal(err)
	}
	// Blocks have 19 bytes and one row each, so an offset gives the row.
	if !strings.Contains(err.Error(), "(the row is counted on through the blocks after this one)") {
		t.Errorf("%v does not say from where the row counts", err)
	}
	if at := int64(len(file)) - 19*7; d.Offset+19*d.Row != at || d.Row > blocks/1000 {
		t.Errorf("%v, want a block at most %d rows before the one at %d", err, blocks/1000, at)
	}
}
