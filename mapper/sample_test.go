package mapper_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/trevni"
)

// readSample reads a source in pieces of a given size, and returns the sizes of its
// columns.
func readSample(t *testing.T, s *mapper.Sample, src mapper.Source, piece int64) []mapper.SampleColumn {
	t.Helper()
	for src.Range.Start < src.Size {
		next, err := s.Read(t.Context(), src, piece)
		testenv.Must(t, err)
		src.Range.Start = next
	}
	columns, err := s.Finish(t.Context())
	testenv.Must(t, err)
	return columns
}

// TestSampleTakesWhatTasksTake compares a sample of the whole source with a task.
func TestSampleTakesWhatTasksTake(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 1500))
	f := trevni.NewGroupWriter(trevni.Options{Codec: "snappy", Values: []string{"id"}})
	cfg := config(t, src, f)
	rg, err := f.NewRowGroup(cfg.Mapping.Schema.JSON(), cfg.Mapping.Columns, cfg.BlockSize)
	testenv.Must(t, err)
	var want int64
	if _, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, func(g mapper.RowGroup) error {
		want += g.Outputs[0].Size
		return g.Spill.Close()
	}); err != nil {
		t.Fatal(err)
	}
	for _, piece := range []int64{1, src.Size} {
		s := mapper.NewSample(cfg)
		defer s.Close()
		got, blocks := rg.Size(), int64(0)
		for _, c := range readSample(t, s, src, piece) {
			got += c.Stored + c.Tables
			blocks += c.Blocks
		}
		if got != want || s.Rows() != 1500 || s.Bytes() != src.Size-src.Header.Size {
			t.Errorf("in pieces of %d: %d bytes of output, want %d, for %d rows of %d bytes", piece, got, want, s.Rows(), s.Bytes())
		}
		if blocks < 2*int64(len(cfg.Mapping.Columns)) || s.LargestBlock() < s.Bytes()/100 || s.LargestBlock() > s.Bytes()/3 {
			t.Errorf("%d blocks; the largest block of the input has %d of %d bytes", blocks, s.LargestBlock(), s.Bytes())
		}
	}
}

// TestSampleLeavesDamageOut has a block with a damaged row, and one that does not
// end with its sync marker.
func TestSampleLeavesDamageOut(t *testing.T) {
	var blocks []avrotest.Block
	for _, rows := range []string{"\x02\x02x\x02\x02y", "\x02\x02x\x02\xff\xff", "\x04\x02x\x04\x02y", "\x02\x02x\x02\x02y", "\x02\x02x\x02\x02y"} {
		blocks = append(blocks, avrotest.Block{Rows: 2, Data: []byte(rows)})
	}
	b := avrotest.Make(t, `{"type":"record","name":"R","fields":[{"name":"a","type":"long"},{"name":"b","type":"string"}]}`, "null", blocks...)
	b[len(b)-27] ^= 1 // in the sync marker of the block before the last
	src := source(t, "bad.avro", b)
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.OnDamage = mapper.Quarantine
	s := mapper.NewSample(cfg)
	defer s.Close()
	columns := readSample(t, s, src, src.Size)
	if s.Ended() || s.Rows() != 4 || s.Bytes() != 2*24 || columns[0].Data != 4 || columns[1].Data != 8 {
		t.Errorf("%d rows of %d bytes, columns %+v; want those of two blocks", s.Rows(), s.Bytes(), columns)
	}

	// Blocks after damage that ends tasks are not decoded.
	cfg.OnDamage = mapper.Fail
	fails := mapper.NewSample(cfg)
	defer fails.Close()
	for range 2 {
		if _, err := fails.Read(t.Context(), src, src.Size); err != nil || !fails.Ended() || fails.Rows() != 2 {
			t.Errorf("%d rows, ended: %v, %v", fails.Rows(), fails.Ended(), err)
		}
	}
}

func TestSampleWithoutRows(t *testing.T) {
	src := source(t, "none.avro", mail(t, 0))
	s := mapper.NewSample(config(t, src, trevni.NewGroupWriter(trevni.Options{})))
	defer s.Close()
	for _, c := range readSample(t, s, src, 1) {
		if c != (mapper.SampleColumn{}) {
			t.Errorf("got %+v for a column, want zeros", c)
		}
	}
}

func TestSampleBeyondTheMemory(t *testing.T) {
	src := source(t, "large.avro", largeBlock(t, 8<<20))
	cfg := config(t, src, trevni.NewGroupWriter(trevni.Options{}))
	cfg.Pool, cfg.MaxInputBlock = budget.New(0), 32<<20
	s := mapper.NewSample(cfg)
	defer s.Close()
	if _, err := s.Read(t.Context(), src, src.Size); !errors.As(err, new(*budget.Error)) {
		t.Errorf("got %v, want a budget.Error", err)
	}

	src = source(t, "larger.avro", largeBlock(t, 64<<20)) // too large with any memory
	large := mapper.NewSample(cfg)
	defer large.Close()
	if next, err := large.Read(t.Context(), src, src.Size); err != nil || next != src.Size {
		t.Errorf("read up to %d of %d: %v", next, src.Size, err)
	}
}

func TestSampleEndsWithItsContext(t *testing.T) {
	src := source(t, "mail.avro", mail(t, 1000))
	s := mapper.NewSample(config(t, src, trevni.NewGroupWriter(trevni.Options{})))
	defer s.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Read(ctx, src, src.Size); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestSampleOfRowsWithoutBytes has more rows than a sample reads.
func TestSampleOfRowsWithoutBytes(t *testing.T) {
	src := source(t, "null.avro", avrotest.Make(t, `"null"`, "null", slices.Repeat([]avrotest.Block{{Rows: mapper.MaxSampleRows / 2}}, 3)...))
	s := mapper.NewSample(config(t, src, trevni.NewGroupWriter(trevni.Options{})))
	defer s.Close()
	for range 2 {
		next, err := s.Read(t.Context(), src, src.Size)
		if err != nil || s.Rows() != mapper.MaxSampleRows {
			t.Errorf("%d rows up to byte %d, %v", s.Rows(), next, err)
		}
		src.Range.Start = next
	}
	if src.Range.Start >= src.Size {
		t.Error("the last block was read")
	}
}
