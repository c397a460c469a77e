package ocf

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"sync"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/wire"
)

// The reserved metadata keys that a reader needs.
const (
	KeySchema = "avro.schema"
	KeyCodec  = "avro.codec"
)

// SyncSize is the number of bytes of a sync marker, which ends each block.
const SyncSize = 16

const (
	// Limits on headers. Real schemas stay under 2 MiB and a few dozen keys.
	maxHeader  = 64 << 20
	maxEntries = 1 << 16
)

var magic = [4]byte{'O', 'b', 'j', 1}

// Meta is one entry of the header's metadata.
type Meta struct {
	Key   string
	Value []byte
}

// Header is the checked header of one file.
type Header struct {
	Meta   []Meta         // every entry, in file order
	Schema string         // value of avro.schema, not parsed
	Codec  string         // value of avro.codec, "null" if it is missing; always known to CheckCodec
	Sync   [SyncSize]byte // marker that ends the header and each block
	Size   int64          // size of the header, which is the offset of the first block
}

// Get returns the value of the last entry with the key.
func (h *Header) Get(key string) ([]byte, bool) {
	for i := len(h.Meta) - 1; i >= 0; i-- {
		if h.Meta[i].Key == key {
			return h.Meta[i].Value, true
		}
	}
	return nil, false
}

// headerBuffers holds buffers to reuse, because a run may read the headers of very many files.
var headerBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// ReadHeader reads and checks the header of the file that r reads. The name is only used in
// errors. If the header breaks the format, the error is a *damage.Error. An error of r is
// returned wrapped.
func ReadHeader(r io.ReaderAt, size int64, name string) (*Header, error) {
	return ReadHeaderWithin(r, size, name, column.Unlimited{})
}

// ReadHeaderWithin is ReadHeader that reserves its memory from an account. If the account
// refuses, its error is returned wrapped.
func ReadHeaderWithin(r io.ReaderAt, size int64, name string, memory column.Account) (*Header, error) {
	buffer := headerBuffers.Get().(*bufio.Reader)
	buffer.Reset(io.NewSectionReader(r, 0, size))
	h, err := readHeader(buffer, size, name, memory)
	buffer.Reset(nil)
	headerBuffers.Put(buffer)
	return h, err
}

// readHeader reads the header of a file of size bytes. For a stream, size is
// math.MaxInt64.
func readHeader(r *bufio.Reader, size int64, name string, memory column.Account) (*Header, error) {
	d := headerReader{damage.Cursor{Cursor: wire.NewReader(r, size), File: name, Block: -1}, memory}
	h := d.header()
	err := d.Err()
	if err == nil {
		return h, nil
	}
	if !errors.As(err, new(*damage.Error)) {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return nil, err
}

type headerReader struct {
	damage.Cursor
	memory column.Account
}

func (d *headerReader) header() *Header {
	d.magic()
	h := &Header{Codec: "null"}
	schemaAt, codecAt := int64(-1), int64(-1)
	for d.Err() == nil {
		at := d.Offset()
		count, end := d.mapBlock()
		if count == 0 {
			break
		}
		//guard: bounds the number of entries in a header
		if count > int64(maxEntries-len(h.Meta)) {
			d.bad(at, "more than %d metadata entries", maxEntries)
		}
		for ; count > 0 && d.Err() == nil; count-- {
			key, valueAt := string(d.bytes("metadata key")), d.Offset()
			value := d.bytes("metadata value")
			switch key {
			case KeySchema:
				schemaAt, h.Schema = valueAt, string(value)
			case KeyCodec:
				codecAt, h.Codec = valueAt, string(value)
			}
			h.Meta = append(h.Meta, Meta{Key: key, Value: value})
		}
		//guard: rejects a header that contradicts its own size
		if end >= 0 && d.Offset() != end {
			d.bad(at, "metadata block said to end at offset %d ends at %d", end, d.Offset())
		}
	}
	copy(h.Sync[:], d.Bytes(SyncSize, "sync marker"))
	h.Size = d.Offset()
	switch {
	//guard: rejects a header without a schema
	case schemaAt < 0:
		d.bad(0, "no %s in the metadata", KeySchema)
	case h.Schema == "":
		d.bad(schemaAt, "%s is empty", KeySchema)
	//guard: rejects an unknown codec
	case !CheckCodec(h.Codec):
		d.Fail(damage.Codec, codecAt, "unknown codec %q", clip(h.Codec))
	}
	return h
}

// magic checks the first four bytes. If a file has fewer bytes, it is not a truncated Avro
// file, but another kind of file.
func (d *headerReader) magic() {
	got := d.Bytes(min(int64(len(magic)), d.Remaining()), "magic")
	//guard: rejects a file that is not an Avro file
	if !bytes.Equal(got, magic[:]) {
		d.Fail(damage.Magic, 0, "not an Avro object container file: want %x, got %s", magic, orNothing(got))
	}
}

// mapBlock reads the head of a block of the metadata map: the number of entries and the
// offset after them, or -1 if the writer does not state it.
func (d *headerReader) mapBlock() (count, end int64) {
	at := d.Offset()
	if count = d.Varint("metadata count"); count >= 0 {
		return count, -1
	}
	if count == math.MinInt64 {
		d.bad(at, "metadata count %d", count)
	}
	n := d.Varint("metadata block size")
	//guard: rejects a map block that reaches beyond the file
	if n < 0 || n > d.Remaining() {
		d.bad(at, "metadata block of %d bytes, but %d remain", n, d.Remaining())
	}
	return -count, d.Offset() + n
}

func (d *headerReader) bytes(what string) []byte {
	n := d.Varint("length of a " + what)
	//guard: bounds the size of a header
	if limit := maxHeader - d.Offset(); !d.Fits(n, limit, what) {
		return nil
	}
	//guard: reserves memory for an entry before it is read
	if err := d.memory.Reserve(2 * n); err != nil { // some entries are kept both as bytes and as text
		d.Stop(fmt.Errorf("%s of %d bytes: %w", what, n, err))
	}
	return d.Bytes(n, what)
}

func (d *headerReader) bad(at int64, reason string, args ...any) {
	d.Fail(damage.Header, at, reason, args...)
}

func orNothing(p []byte) string {
	if len(p) == 0 {
		return "an empty file"
	}
	return hex.EncodeToString(p)
}

func clip(s string) string { return s[:min(len(s), 40)] }
