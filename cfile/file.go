package cfile

import (
	"encoding/binary"
	"errors"
	"io"
	"sync"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// File is an open CFile. It is safe for concurrent use, but its cursors are not.
type File struct {
	r          io.ReaderAt
	readBlock  readBlock
	memory     column.Account
	name       string
	size       int64
	headerSize int64  // size of the header with its checksum
	header     []Pair // metadata of the header
	footerAt   int64  // offset of the footer with its checksum
	footer     *Footer
	held       int64 // bytes of header and footer that are accounted for

	crcsMu sync.Mutex
	crcs   map[int64]uint32 // checksums of the blocks that were read, by offset; nil if not collected

	mu    sync.Mutex // held while the dictionary is read
	words *encoding.Dictionary
}

// readBlock reads stored data blocks at an offset. The blocks of the file end at end.
type readBlock func(p []byte, off, end int64) (int, error)

// Open opens the file of size bytes in r. It reads and checks the header and the footer. The name
// is for messages. An error is a *damage.Error, or wraps an error of r.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	read := func(p []byte, off, _ int64) (int, error) { return r.ReadAt(p, off) }
	return newFile(r, size, name, read, column.Unlimited{})
}

// newFile is Open with a function that reads data blocks, and an account of the memory for
// header, footer, dictionary and the blocks of cursors.
func newFile(r io.ReaderAt, size int64, name string, read readBlock, memory column.Account) (*File, error) {
	f := &File{r: r, readBlock: read, memory: memory, name: name, size: size}
	if err := f.open(); err != nil {
		memory.Release(f.held)
		damage.SetFile(err, name)
		return nil, err
	}
	return f, nil
}

// Name returns the name given to Open.
func (f *File) Name() string { return f.name }

// Size returns the file's length in bytes.
func (f *File) Size() int64 { return f.size }

// Footer returns the footer of the file. It must not be changed.
func (f *File) Footer() *Footer { return f.footer }

// Header returns the metadata of the header, in the order of the file. Kudu writes none.
func (f *File) Header() []Pair { return f.header }

// HeaderSize returns the size of the header with its checksum. The first block follows it.
func (f *File) HeaderSize() int64 { return f.headerSize }

// unverified reports whether the file has no checksums.
func (f *File) unverified() bool { return !f.footer.checksums() }

// firstRead is the size of the first read, at the file's end. Most footers are smaller.
const firstRead = 1 << 10

func (f *File) open() error {
	//guard: rejects a file too short for header and footer
	if f.size < 2*int64(frameSize) {
		return damage.New(damage.Truncated, "", f.size, "a file of %d bytes, expected at least %d", f.size, 2*frameSize)
	}
	tail := make([]byte, min(f.size, firstRead))
	if err := damage.ReadFull(f.r, tail, f.size-int64(len(tail)), f.name); err != nil {
		return err
	}
	frame := tail[len(tail)-frameSize:]
	length, version, err := parseFrame(frame, f.size-int64(frameSize))
	if err != nil {
		return err
	}
	// The checksum is in front of the message.
	need := int64(checksumSize + length + frameSize)
	//guard: rejects a footer that begins before the file
	if need > f.size-int64(frameSize) {
		return damage.New(damage.Truncated, "", f.size-4, "a footer of %d bytes in a file of %d", length, f.size)
	}
	if err := f.reserve(need); err != nil {
		return err
	}
	if int64(len(tail)) < need {
		tail = make([]byte, need)
		if err := damage.ReadFull(f.r, tail, f.size-need, f.name); err != nil {
			return err
		}
	}
	if err := f.readFooter(tail[int64(len(tail))-need:], version); err != nil {
		return err
	}
	if err := f.readHeader(version); err != nil {
		return err
	}
	return f.check()
}

// reserve reserves memory for a message of n bytes: the bytes, and the values parsed from them.
func (f *File) reserve(n int64) error {
	if err := f.memory.Reserve(2 * n); err != nil {
		return err
	}
	f.held += 2 * n
	return nil
}

// parseFrame reads a magic and the length of a message, at an offset.
func parseFrame(b []byte, at int64) (length, version int, err error) {
	magic, n := b[:magicSize], binary.LittleEndian.Uint32(b[magicSize:])
	switch string(magic) {
	case magic1:
		version = 1
	case magic2:
		version = 2
	default:
		return 0, 0, damage.New(damage.Magic, "", at, "found %q, expected %q or %q", magic, magic1, magic2)
	}
	//guard: rejects a length that no writer makes
	if n > maxMessage {
		return 0, 0, damage.New(damage.Size, "", at+int64(magicSize), "a message of %d bytes, at most %d", n, maxMessage)
	}
	return int(n), version, nil
}

// readFooter reads the footer from the end of the file. If the footer says that the file has
// checksums, tail begins with the footer's checksum.
func (f *File) readFooter(tail []byte, version int) (err error) {
	message := tail[checksumSize : len(tail)-frameSize]
	f.footerAt = f.size - int64(len(tail)-checksumSize)
	if f.footer, err = parseFooter(message, f.footerAt); err != nil {
		return err
	}
	f.footer.Version = version
	if f.footer.checksums() {
		f.footerAt -= checksumSize
		if err := checkSum(tail[checksumSize:], tail, f.footerAt, "footer"); err != nil {
			return err
		}
	}
	//guard: rejects features that this reader does not know
	if unknown := f.footer.Incompatible &^ (FeatureChecksums | FeatureArrays); unknown != 0 {
		return damage.New(damage.Unsupported, "", f.footerAt, "unknown incompatible features %#x", unknown)
	}
	//guard: rejects files of array elements
	if f.footer.Array || f.footer.Incompatible&FeatureArrays != 0 {
		return damage.New(damage.Unsupported, "", f.footerAt, "array data blocks (incompatible feature %#x)", FeatureArrays)
	}
	return nil
}

// checkSum compares the checksum at the start of stored with the checksum of b. The damage has
// the offset at, and what names the bytes.
func checkSum(b, stored []byte, at int64, what string) error {
	want, got := binary.LittleEndian.Uint32(stored), checksum(b)
	//guard: rejects damaged bytes
	if want != got {
		return damage.New(damage.Checksum, "", at, "the stored CRC-32C is %08x, that of the %s is %08x", want, what, got)
	}
	return nil
}

// readHeader reads the header. version is the version in the footer.
func (f *File) readHeader(version int) error {
	head := make([]byte, frameSize+checksumSize)
	head = head[:min(int64(len(head)), f.size)]
	if err := damage.ReadFull(f.r, head, 0, f.name); err != nil {
		return err
	}
	length, own, err := parseFrame(head, 0)
	if err != nil {
		return err
	}
	//guard: rejects a footer of another version than the header
	if own != version {
		return damage.New(damage.Magic, "", 0, "the magic is of version %d at the beginning and %d at the end", own, version)
	}
	f.headerSize = int64(frameSize + length + f.footer.checksumSize())
	//guard: rejects a header that reaches into the footer
	if f.headerSize > f.footerAt {
		return damage.New(damage.Size, "", int64(magicSize), "the header ends at %d, the footer begins at %d", f.headerSize, f.footerAt)
	}
	whole := frameSize + length + checksumSize // in the file: a footer has at least checksumSize bytes
	if err := f.reserve(int64(whole)); err != nil {
		return err
	}
	if len(head) < whole {
		head = make([]byte, whole)
		if err := damage.ReadFull(f.r, head, 0, f.name); err != nil {
			return err
		}
	}
	message, sum := head[:frameSize+length], head[frameSize+length:whole]
	if f.footer.checksums() {
		if err := checkSum(message, sum, 0, "header"); err != nil {
			return err
		}
	} else if checkSum(message, sum, 0, "header") == nil {
		//guard: rejects a footer that turns the checksums off
		return damage.New(damage.Header, "", f.footerAt, "the footer says that there are no checksums, but the header has one")
	}
	f.header, err = parseHeader(message[frameSize:], int64(frameSize))
	return err
}

// check checks the footer.
func (f *File) check() error {
	o := f.footer
	//guard: rejects an encoding that the type does not have
	if !o.Type.allows(o.Encoding) {
		return damage.New(damage.Unsupported, "", f.footerAt, "values of %s with the encoding %s", o.Type, o.Encoding)
	}
	//guard: rejects a file without an index
	if o.Positional == nil && o.Value == nil {
		return damage.New(damage.Header, "", f.footerAt, "no index")
	}
	for _, p := range []*Pointer{o.Positional, o.Value, o.Dictionary} {
		//guard: rejects a pointer to a place where no block can be
		if p != nil && (p.Offset < f.headerSize || int64(p.Size) < f.minBlock() || p.Offset > f.footerAt-int64(p.Size)) {
			return damage.New(damage.Size, "", f.footerAt, "a block of %d bytes at %d, expected at least %d from %d to %d",
				p.Size, p.Offset, f.minBlock(), f.headerSize, f.footerAt)
		}
	}
	//guard: rejects dictionary codes without a dictionary
	if o.Encoding.resolve(o.Type) == Dict && o.Dictionary == nil {
		return damage.New(damage.Header, "", f.footerAt, "the encoding is %s, but there is no dictionary", Dict)
	}
	return nil
}

// minBlock returns the smallest size of a stored block of the file.
func (f *File) minBlock() int64 { return minBlock + int64(f.footer.checksumSize()) }

// dictionary returns the words of the file, which must have a dictionary. It reads them once.
func (f *File) dictionary() (*encoding.Dictionary, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.words != nil {
		return f.words, nil
	}
	b := blockReader{f: f, from: f.readAt}
	p := *f.footer.Dictionary
	raw, err := b.read(p)
	if err != nil {
		return nil, err
	}
	words, err := encoding.NewDictionary(raw)
	if err == nil {
		err = f.memory.Reserve(4 * int64(words.Len()))
	}
	if err != nil {
		b.close()
		return nil, f.locate(err, p)
	}
	f.words = words
	return words, nil
}

// keepCRC keeps the checksum of a block for the file's verification.
func (f *File) keepCRC(offset int64, crc uint32) {
	if f.crcs == nil {
		return
	}
	f.crcsMu.Lock()
	defer f.crcsMu.Unlock()
	f.crcs[offset] = crc
}

// readAt is a readBlock for blocks that are not data blocks.
func (f *File) readAt(p []byte, off, _ int64) (int, error) { return f.r.ReadAt(p, off) }

// locate adds the file to damage found in the raw bytes of a block, and moves its offset there.
func (f *File) locate(err error, p Pointer) error {
	if err == nil {
		return nil
	}
	var d *damage.Error
	if errors.As(err, &d) && d.File == "" {
		d.File = f.name
		if f.footer.Compression != NoCompression {
			d.Offset = 0 // only the block's start is known
		}
		d.Offset = p.Offset + max(d.Offset, 0)
	}
	return err
}
