package bloom

import (
	"errors"
	"io"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/format/damage"
)

// File is an open BloomFile. It is safe for concurrent use; its probers are not.
type File struct {
	file *cfile.File
}

// Open reads and checks the header and the footer of the file of size bytes behind r; name
// is for messages. Errors are *damage.Error, or wrap what r reported.
func Open(r io.ReaderAt, size int64, name string) (*File, error) {
	file, err := cfile.Open(r, size, name)
	if err != nil {
		return nil, err
	}
	of := file.Footer()
	refuse := func(kind damage.Kind, reason string, args ...any) (*File, error) {
		return nil, damage.New(kind, name, file.FooterStart(), "this is no BloomFile: "+reason, args...)
	}
	switch {
	case of.Type != cfile.Binary || of.Encoding != cfile.Plain || of.Nullable:
		return refuse(damage.Header, "its blocks are of type %v, encoding %v", of.Type, of.Encoding)
	//guard: what compresses a filter is no filter
	case of.Compression != cfile.NoCompression:
		return refuse(damage.Codec, "its blocks are compressed by %v", of.Compression)
	//guard: rows would be taken for filters
	case of.Values != 0:
		return refuse(damage.Count, "it has %d rows", of.Values)
	//guard: no filter could be found
	case of.Value == nil:
		return refuse(damage.Header, "it has no value index")
	}
	return &File{file}, nil
}

// Prober asks a file for keys. It keeps the filter that it asked last.
type Prober struct {
	name   string
	blocks *cfile.BlockCursor
	at     int64 // offset of the block of filter; 0 before the first
	filter filter
}

// Prober returns a prober of the file.
func (f *File) Prober() *Prober {
	return &Prober{name: f.file.Name(), blocks: f.file.BlockCursor()}
}

// MayContain is false if the key is none of those that the file was made of. Otherwise it
// probably is one. The key is encoded as it was for Writer.Add. It reads the index blocks on
// the way to the key's filter, and the filter, so far as the prober does not have them.
// Errors are *damage.Error, or the file reader's.
func (p *Prober) MayContain(key []byte) (bool, error) {
	block, err := p.blocks.SeekKey(key)
	if errors.Is(err, io.EOF) { // less than all keys
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if block.Offset != p.at {
		if err := p.load(block); err != nil {
			return false, err
		}
	}
	return p.filter.mayContain(cityHash64(key)), nil
}

// load reads the filter of a block.
func (p *Prober) load(block cfile.DataBlock) error {
	p.at = 0
	raw, err := p.blocks.Read(block)
	if err != nil {
		return err
	}
	if p.filter, err = parse(raw); err != nil {
		if d := (*damage.Error)(nil); errors.As(err, &d) {
			d.File, d.Offset = p.name, block.Offset+d.Offset
		}
		return err
	}
	p.at = block.Offset
	return nil
}

// Close gives the memory of the prober back.
func (p *Prober) Close() { p.blocks.Close() }
