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
// file and of the header's cap before it allocates. After its first error it reads
// nothing more and returns zeros.
type headerReader struct {
	r    *bufio.Reader
	name string
	size int64 // of a stream math.MaxInt64
	off  int64
	err  error

	memory column.Account
}

func (d *headerReader) header() (*Header, error) {
	d.magic()
	h := &Header{Codec: "null"}
	schemaAt, codecAt := int64(-1), int64(-1)
	for d.err == nil {
		at := d.off
		count, end := d.mapBlock()
		if count == 0 {
			break
		}
		//guard: a header could fill memory with empty entries
		if count > int64(maxEntries-len(h.Meta)) {
			d.bad(at, "more than %d metadata entries", maxEntries)
		}
		for ; count > 0 && d.err == nil; count-- {
			key, valueAt := string(d.bytes("metadata key")), d.off
			value := d.bytes("metadata value")
			switch key {
			case KeySchema:
				schemaAt, h.Schema = valueAt, string(value)
			case KeyCodec:
				codecAt, h.Codec = valueAt, string(value)
			}
			h.Meta = append(h.Meta, Meta{Key: key, Value: value})
		}
		//guard: a header that contradicts itself would pass
		if end >= 0 && d.off != end {
			d.bad(at, "metadata block said to end at offset %d ends at %d", end, d.off)
		}
	}
	d.full(h.Sync[:], "sync marker")
	h.Size = d.off
	switch {
	//guard: rows without a schema would be guessed at
	case schemaAt < 0:
		d.bad(0, "no %s in the metadata", KeySchema)
	case h.Schema == "":
		d.bad(schemaAt, "%s is empty", KeySchema)
	//guard: an unknown codec would fail later, as something else
	case !CheckCodec(h.Codec):
		d.damaged(damage.Codec, codecAt, "unknown codec %q", clip(h.Codec))
	}
	if d.err != nil {
		return nil, d.err
	}
	return h, nil
}

// magic checks the first four bytes. A file too short to hold them is another
// kind of file, not a truncated one.
func (d *headerReader) magic() {
	got := make([]byte, min(d.size, int64(len(magic))))
	d.full(got, "magic")
	//guard: any file would be taken for an Avro file
	if !bytes.Equal(got, magic[:]) {
		d.damaged(damage.Magic, 0, "not an Avro object container file: want %x, got %s", magic, orNothing(got))
	}
}

// mapBlock reads the head of a block of the metadata map: the number of entries, and
// the offset after them, which is -1 if the writer did not say.
func (d *headerReader) mapBlock() (count, end int64) {
	at := d.off
	if count = d.long("metadata count"); count >= 0 {
		return count, -1
	}
	if count == math.MinInt64 {
		d.bad(at, "metadata count %d", count)
	}
	n := d.long("metadata block size")
	//guard: a map block could reach beyond the file
	if n < 0 || n > d.remaining() {
		d.bad(at, "metadata block of %d bytes, but %d remain", n, d.remaining())
	}
	return -count, d.off + n
}

func (d *headerReader) bytes(what string) []byte {
	at := d.off
	n := d.long("length of a " + what)
	switch {
	//guard: a negative length would crash the reader
	case n < 0:
		d.bad(at, "%s of %d bytes", what, n)
	//guard: a length would be allocated that the file does not have
	case n > d.remaining():
		d.damaged(damage.Truncated, at, "%s of %d bytes, but %d remain", what, n, d.remaining())
	//guard: a header of any size would be read into memory
	case n > maxHeader-d.off:
		d.bad(at, "%s of %d bytes makes the header longer than %d", what, n, maxHeader)
	}
	if d.err != nil {
		return nil
	}
	//guard: memory would be taken that there is not
	if err := d.memory.Reserve(2 * n); err != nil { // some are there twice, as bytes and as text
		d.err = fmt.Errorf("%s: %s of %d bytes: %w", d.name, what, n, err)
		return nil
	}
	p := make([]byte, n)
	d.full(p, what)
	return p
}

func (d *headerReader) long(what string) int64 {
	at := d.off
	var u uint64
	for shift := 0; d.err == nil; shift += 7 {
		if d.remaining() == 0 {
			d.damaged(damage.Truncated, d.off, "the file ends inside the header (%s)", what)
			break
		}
		c, err := d.r.ReadByte()
		if err != nil {
			d.ioError(err)
			break
		}
		d.off++
		//guard: a number would lose its highest bits
		if shift == 63 && c > 1 {
			d.bad(at, "%s is not a 64-bit varint", what)
		}
		u |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return int64(u>>1) ^ -int64(u&1)
		}
	}
	return 0
}

func (d *headerReader) full(p []byte, what string) {
	if d.err != nil {
		return
	}
	if int64(len(p)) > d.remaining() {
		d.damaged(damage.Truncated, d.off, "the file ends inside the header: %s of %d bytes, but %d remain", what, len(p), d.remaining())
	} else if _, err := io.ReadFull(d.r, p); err != nil {
		d.ioError(err)
	} else {
		d.off += int64(len(p))
	}
}

func (d *headerReader) remaining() int64 { return d.size - d.off }

// damaged makes damage the error, unless there is one.
func (d *headerReader) damaged(kind damage.Kind, at int64, reason string, args ...any) {
	if d.err == nil {
		d.err = damage.New(kind, d.name, at, reason, args...)
	}
}

func (d *headerReader) bad(at int64, reason string, args ...any) {
	d.damaged(damage.Header, at, reason, args...)
}

func (d *headerReader) ioError(err error) {
	if d.size == math.MaxInt64 && isEnd(err) {
		d.damaged(damage.Truncated, d.off, "the stream ends inside the header")
	} else {
		d.err = readError(d.name, d.off, err)
	}
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
