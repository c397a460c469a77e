package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/inspect"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/cli"
)

// avroFile is an open Avro object container file, or a stream of one.
type avroFile struct {
	*ocf.Reader
	name  string
	bytes int64 // size of the file; 0 for a stream
	close func()
}

// openAvro opens an Avro file. It returns nil for a directory, or a file that is not Avro.
func (a *app) openAvro(ctx context.Context, name string) (*avroFile, error) {
	memory := a.Pool.NewHeap()
	if isStream(name) {
		in, err := a.stream(ctx)
		if err != nil {
			return nil, err
		}
		r, err := ocf.NewStreamReader(in, "standard input", format.DefaultMaxBlock, memory)
		return &avroFile{r, name, 0, memory.Close}, err
	}
	at, err := a.Resolve(asFile(name))
	if err != nil {
		return nil, err
	}
	if info, err := at.Store.Stat(ctx, at.Path); err != nil || info.Dir {
		return nil, nil // the reader of column files reports the error
	}
	f, err := at.Store.Open(ctx, at.Path)
	if err != nil {
		return nil, nil // other readers report the error
	}
	if !dataset.IsAvro(f) {
		return nil, f.Close()
	}
	r, err := ocf.NewReader(f, f.Size(), name, format.DefaultMaxBlock, memory)
	closed := func() {
		_ = f.Close() // only read
		memory.Close()
	}
	if err != nil {
		closed()
		return nil, err
	}
	return &avroFile{r, name, f.Size(), closed}, nil
}

// inspectedAvro is the result of inspect for an Avro file in the final JSON object.
type inspectedAvro struct {
	Path        string             `json:"path"`
	Format      string             `json:"format"`
	Codec       string             `json:"codec"`
	SchemaBytes int                `json:"schema_bytes"`
	Bytes       int64              `json:"bytes,omitempty"` // size of the file; 0 for a stream
	Rows        int64              `json:"rows"`
	Blocks      int64              `json:"blocks"`
	Raw         int64              `json:"raw"`    // bytes of all rows
	Stored      int64              `json:"stored"` // bytes of all rows as they are stored
	BlockRows   extremes           `json:"block_rows"`
	BlockRaw    extremes           `json:"block_raw"`
	BlockStored extremes           `json:"block_stored"`
	Metadata    []inspect.Metadata `json:"metadata"`
}

// extremes holds the least and the largest of some figures.
type extremes struct {
	Min int64 `json:"min"`
	Max int64 `json:"max"`
}

func (e *extremes) add(n int64, first bool) {
	if first {
		e.Min = n
	}
	e.Min, e.Max = min(e.Min, n), max(e.Max, n)
}

// showAvro prints the parts of an Avro file, or of a damaged file the parts before the
// damage.
func (o *inspectCommand) showAvro(ctx context.Context, f *avroFile) error {
	defer f.close()
	if o.dump || o.html != "" {
		return cli.Usagef("--bytes and --html are for column files, %s is an Avro file", f.name)
	}
	h := f.Header()
	r := &inspectedAvro{Path: f.name, Format: "avro", Codec: h.Codec, SchemaBytes: len(h.Schema), Bytes: f.bytes, Metadata: []inspect.Metadata{}}
	for _, m := range h.Meta {
		if m.Key != ocf.KeySchema {
			r.Metadata = append(r.Metadata, metadataOf(m))
		}
	}
	p, stop := o.StartProgress(ctx)
	defer stop()
	var err error
	for err == nil {
		var b *ocf.Block
		var rows []byte
		if b, rows, err = f.Next(ctx); err == nil {
			r.add(b, len(rows))
			p.Set(r.Rows, r.Stored, f.bytes)
		}
	}
	stop()
	o.Result = r
	if !o.JSON {
		o.printAvro(r)
	}
	if err == io.EOF {
		return nil
	}
	return err
}

// metadataOf returns an entry of the header, in hexadecimal if it is not text.
func metadataOf(m ocf.Meta) inspect.Metadata {
	if utf8.Valid(m.Value) {
		return inspect.Metadata{Key: m.Key, Value: string(m.Value)}
	}
	return inspect.Metadata{Key: m.Key, Value: hex.EncodeToString(m.Value), Hex: true}
}

func (r *inspectedAvro) add(b *ocf.Block, raw int) {
	first := r.Blocks == 0
	r.Blocks++
	r.Rows += b.Rows
	r.Raw += int64(raw)
	r.Stored += int64(len(b.Data))
	r.BlockRows.add(b.Rows, first)
	r.BlockRaw.add(int64(raw), first)
	r.BlockStored.add(int64(len(b.Data)), first)
}

func (o *inspectCommand) printAvro(r *inspectedAvro) {
	facts := fmt.Sprintf("%s in %s", cli.Plural(r.Rows, "row"), cli.Plural(r.Blocks, "block"))
	if r.Bytes > 0 {
		facts += ", " + cli.Human(r.Bytes)
	}
	o.printTitled(r.Path, facts+", Avro, codec "+r.Codec)
	o.printIndented(fmt.Sprintf("schema of %s (rowtocol schema prints it)", cli.Plural(r.SchemaBytes, "byte")))
	for i := range r.Metadata {
		o.printMetadata(&r.Metadata[i])
	}
	o.printIndented(fmt.Sprintf("rows of %s, stored in %s, ratio %s", cli.Human(r.Raw), cli.Human(r.Stored), ratio(r.Raw, r.Stored)))
	if r.Blocks > 0 {
		o.printIndented(fmt.Sprintf("blocks of %s, %s, stored in %s", cli.PluralBetween(r.BlockRows.Min, r.BlockRows.Max, "row"),
			cli.Between(r.BlockRaw.Min, r.BlockRaw.Max), cli.Between(r.BlockStored.Min, r.BlockStored.Max)))
	}
}
