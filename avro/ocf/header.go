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
)

// The reserved metadata keys that a reader needs.
const (
	KeySchema = "avro.schema"
	KeyCodec  = "avro.codec"
)

// SyncSize is the number of bytes of a sync marker, which ends each block.
const SyncSize = 16

const (
	// Caps on headers. Real schemas stay under 2 MiB and a few dozen keys.
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
	Codec  string         // value of avro.codec, "null" if absent; passes CheckCodec
	Sync   [SyncSize]byte // marker that ends the header and each block
	Size   int64          // bytes of the header: where the first block starts
}

// Get returns the value of the last entry with this key.
func (h *Header) Get(key string) ([]byte, bool) {
	for i := len(h.Meta) - 1; i >= 0; i-- {
		if h.Meta[i].Key == key {
			return h.Meta[i].Value, true
		}
	}
	return nil, false
}

// headerBuffers are for reading headers of very many files.
var headerBuffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 64<<10) }}

// ReadHeader reads and checks the header of the file that r holds. The name
// appears in errors only. A header that is not as the format says is a
// *damage.Error; an error of r is returned wrapped.
func ReadHeader(r io.ReaderAt, size int64, name string) (*Header, error) {
	return ReadHeaderWithin(r, size, name, column.Unlimited{})
}

// ReadHeaderWithin is ReadHeader with what memory has: its refusal is returned wrapped.
func ReadHeaderWithin(r io.ReaderAt, size int64, name string, memory column.Account) (*Header, error) {
	d := headerReader{r: headerBuffers.Get().(*bufio.Reader), name: name, size: size, memory: memory}
	d.r.Reset(io.NewSectionReader(r, 0, size))
	h, err := d.header()
	d.r.Reset(nil)
	headerBuffers.Put(d.r)
	if err != nil {
		return nil, err
	}
	return h, nil
}

// headerReader is a cursor that compares each length with what remains of the
// file and of the header's cap before it allocates.
type headerReader struct {
	r    *bufio.Reader
	name string
	size int64 // of a stream math.MaxInt64
	off  int64

	memory column.Account
}

func (d *headerReader) header() (*Header, error) {
	if err := d.magic(); err != nil {
		return nil, err
	}
	h := &Header{Codec: "null"}
	schemaAt, codecAt := int64(-1), int64(-1)
	for {
		n, err := d.mapBlock()
		if err != nil {
			return nil, err
		}
		if n.count == 0 {
			break
		}
		//guard: a header could fill memory with empty entries
		if n.count > int64(maxEntries-len(h.Meta)) {
			return nil, d.bad(n.at, "more than %d metadata entries", maxEntries)
		}
		for range n.count {
			key, err := d.bytes("metadata key")
			if err != nil {
				return nil, err
			}
			at := d.off
			value, err := d.bytes("metadata value")
			if err != nil {
				return nil, err
			}
			switch string(key) {
			case KeySchema:
				schemaAt, h.Schema = at, string(value)
			case KeyCodec:
				codecAt, h.Codec = at, string(value)
			}
			h.Meta = append(h.Meta, Meta{Key: string(key), Value: value})
		}
		//guard: a header that contradicts itself would pass
		if n.end >= 0 && d.off != n.end {
			return nil, d.bad(n.at, "metadata block said to end at offset %d ends at %d", n.end, d.off)
		}
	}
	if err := d.full(h.Sync[:], "sync marker"); err != nil {
		return nil, err
	}
	h.Size = d.off
	switch {
	//guard: rows without a schema would be guessed at
	case schemaAt < 0:
		return nil, d.bad(0, "no %s in the metadata", KeySchema)
	case h.Schema == "":
		return nil, d.bad(schemaAt, "%s is empty", KeySchema)
	//guard: an unknown codec would fail later, as something else
	case !CheckCodec(h.Codec):
		return nil, damage.New(damage.Codec, d.name, codecAt, "unknown codec %q", clip(h.Codec))
	}
	return h, nil
}

// magic checks the first four bytes. A file too short to hold them is another
// kind of file, not a truncated one.
func (d *headerReader) magic() error {
	got := make([]byte, min(d.size, int64(len(magic))))
	if err := d.full(got, "magic"); err != nil {
		return err
	}
	//guard: any file would be taken for an Avro file
	if !bytes.Equal(got, magic[:]) {
		return damage.New(damage.Magic, d.name, 0,
			"not an Avro object container file: want %x, got %s", magic, orNothing(got))
	}
	return nil
}

// mapBlock is the head of one block of the metadata map.
type mapBlock struct {
	at    int64 // offset of the count
	count int64 // entries
	end   int64 // offset after the entries, or -1 if the writer did not say
}

func (d *headerReader) mapBlock() (mapBlock, error) {
	b := mapBlock{at: d.off, end: -1}
	var err error
	if b.count, err = d.long("metadata count"); err != nil || b.count >= 0 {
		return b, err
	}
	if b.count == math.MinInt64 {
		return b, d.bad(b.at, "metadata count %d", b.count)
	}
	b.count = -b.count
	n, err := d.long("metadata block size")
	if err != nil {
		return b, err
	}
	//guard: a map block could reach beyond the file
	if n < 0 || n > d.remaining() {
		return b, d.bad(b.at, "metadata block of %d bytes, but %d remain", n, d.remaining())
	}
	b.end = d.off + n
	return b, nil
}

func (d *headerReader) bytes(what string) ([]byte, error) {
	at := d.off
	n, err := d.long("length of a " + what)
	if err != nil {
		return nil, err
	}
	switch {
	//guard: a negative length would crash the reader
	case n < 0:
		return nil, d.bad(at, "%s of %d bytes", what, n)
	//guard: a length would be allocated that the file does not have
	case n > d.remaining():
		return nil, damage.New(damage.Truncated, d.name, at, "%s of %d bytes, but %d remain", what, n, d.remaining())
	//guard: a header of any size would be read into memory
	case n > maxHeader-d.off:
		return nil, d.bad(at, "%s of %d bytes makes the header longer than %d", what, n, maxHeader)
	}
	//guard: memory would be taken that there is not
	if err := d.memory.Reserve(2 * n); err != nil { // some are there twice, as bytes and as text
		return nil, fmt.Errorf("%s: %s of %d bytes: %w", d.name, what, n, err)
	}
	p := make([]byte, n)
	return p, d.full(p, what)
}

func (d *headerReader) long(what string) (int64, error) {
	at := d.off
	var u uint64
	for shift := 0; ; shift += 7 {
		if d.remaining() == 0 {
			return 0, damage.New(damage.Truncated, d.name, d.off, "the file ends inside the header (%s)", what)
		}
		c, err := d.r.ReadByte()
		if err != nil {
			return 0, d.ioError(err)
		}
		d.off++
		//guard: a number would lose its highest bits
		if shift == 63 && c > 1 {
			return 0, d.bad(at, "%s is not a 64-bit varint", what)
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1), nil
		}
	}
}

func (d *headerReader) full(p []byte, what string) error {
	if int64(len(p)) > d.remaining() {
		return damage.New(damage.Truncated, d.name, d.off,
			"the file ends inside the header: %s of %d bytes, but %d remain", what, len(p), d.remaining())
	}
	if _, err := io.ReadFull(d.r, p); err != nil {
		return d.ioError(err)
	}
	d.off += int64(len(p))
	return nil
}

func (d *headerReader) remaining() int64 { return d.size - d.off }

func (d *headerReader) bad(at int64, reason string, args ...any) error {
	return damage.New(damage.Header, d.name, at, reason, args...)
}

func (d *headerReader) ioError(err error) error {
	if d.size == math.MaxInt64 && isEnd(err) {
		return damage.New(damage.Truncated, d.name, d.off, "the stream ends inside the header")
	}
	return readError(d.name, d.off, err)
}

// readError wraps an error of the io.ReaderAt. Every read stays inside the
// size the caller gave, so an end of file means that the file shrank.
func readError(name string, off int64, err error) error {
	if errors.As(err, new(*damage.Error)) {
		return err // it says all
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("read %s at offset %d: %w", name, off, err)
}

func orNothing(p []byte) string {
	if len(p) == 0 {
		return "an empty file"
	}
	return hex.EncodeToString(p)
}

func clip(s string) string { return s[:min(len(s), 40)] }
