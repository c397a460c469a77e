package witness

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"testing"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/internal/corpus"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// fileBlocks are the blocks of a file.
type fileBlocks struct{ *ocf.Reader }

func openBlocks(file []byte) (*ocf.Header, *fileBlocks, error) {
	r, err := ocf.NewReader(bytes.NewReader(file), int64(len(file)), "", 512<<20, column.Unlimited{})
	if err != nil {
		return nil, nil, err
	}
	return r.Header(), &fileBlocks{r}, nil
}

func (b *fileBlocks) next(ctx context.Context) (int64, []byte, error) {
	block, data, err := b.Reader.Next(ctx)
	if err != nil {
		return 0, nil, err
	}
	return block.Rows, data, nil
}

// Next implements Blocks.
func (b *fileBlocks) Next(ctx context.Context, reserve func(int64) error) (Block, error) {
	stored, data, err := b.Reader.Next(ctx)
	if err == nil {
		err = reserve(10 * int64(len(data)))
	}
	if err != nil {
		return Block{}, err
	}
	at, own := stored.Range(), bytes.Clone(data)
	return Block{Start: at.Start, End: at.End, Rows: stored.Rows, Size: int64(len(own)), Decode: func() ([]byte, error) { return own, nil }}, nil
}

// fileRows are the rows of a file.
type fileRows struct {
	file    []byte
	blocks  *fileBlocks
	resolve *shred.Resolver
	data    []byte
	left    int64
}

func (r *fileRows) again() Rows {
	_, blocks, _ := openBlocks(r.file) // it was opened before
	return &fileRows{blocks: blocks, resolve: r.resolve}
}

func (r *fileRows) Next(dst []byte) ([]byte, error) {
	for r.left == 0 {
		var err error
		if r.left, r.data, err = r.blocks.next(context.Background()); err != nil {
			return nil, err
		}
	}
	out, n, err := r.resolve.Row(dst, r.data)
	if err != nil {
		return nil, err
	}
	r.data, r.left = r.data[n:], r.left-1
	return out, nil
}

// TestCorpus compares the intact files of the corpus with themselves. At least one of
// the two decoders reads each row.
func TestCorpus(t *testing.T) {
	var files, goavro, hamba, rejected int64
	for _, e := range corpus.Entries(t) {
		file, err := os.ReadFile(e.Path)
		testenv.Must(t, err)
		switch e.Class {
		case "corrupt", "not-OCF", "trailing-junk":
			continue
		}
		h, own, err := openBlocks(file)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		schema, err := shred.ParseSchema(h.Schema)
		if err != nil {
			t.Fatalf("%s: %v", e.Name, err)
		}
		same, err := shred.Resolve(schema, schema, shred.AllowChanges)
		if err != nil {
			t.Logf("%s (%s): %v", e.Name, e.Class, err)
			continue
		}
		r := compare(t, Input{
			Name: e.Name, R: bytes.NewReader(file), Size: int64(len(file)),
			Blocks: func() (Blocks, error) { _, b, err := openBlocks(file); return b, err },
		}, &fileRows{file: file, blocks: own, resolve: shred.NewResolver(same, 1<<30)})
		files++
		goavro += r.ByGoavro
		if r.Different > 0 || len(r.NotCompared) > 0 || r.Compared != e.Rows {
			t.Errorf("%s (%s): %+v", e.Name, e.Class, r)
		}
		n, err := readWithHamba(file, h.Schema)
		if err != nil {
			rejected++
			t.Logf("%s (%s): hamba alone: %v", e.Name, e.Class, err)
		}
		hamba += n
	}
	t.Logf("%d files: goavro read %d rows, hamba alone read %d and failed in %d files", files, goavro, hamba, rejected)
}

// readWithHamba reads a file with hamba and returns the number of rows.
func readWithHamba(file []byte, schema string) (n int64, err error) {
	plain, err := reduce(schema, slices.Concat(noise, forReaders))
	if err != nil {
		return 0, err
	}
	codec, err := newHamba(plain)
	if err != nil {
		return 0, err
	}
	_, blocks, err := openBlocks(file)
	if err != nil {
		return 0, err
	}
	for {
		rows, data, err := blocks.next(context.Background())
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
		for range rows {
			if _, data, err = codec.input(data); err != nil {
				return n, err
			}
			n++
		}
		if len(data) > 0 {
			return n, errors.New("bytes are left over")
		}
	}
}
