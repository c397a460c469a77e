package parquet

import (
	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// ReadFooter reads the footer of a file that this package wrote, and checks it as opening the
// file does. Errors are *damage.Error, or wrap those of reading.
func ReadFooter(f format.File, o format.OpenOptions) (*pq.FileMetaData, error) {
	o = o.EnsureDefaults()
	memory := &column.Reservation{Account: o.Memory}
	defer memory.ShrinkTo(0)
	p := &part{file: f, memory: column.NewShared(memory), max: o.MaxBlock}
	meta, _, err := p.readFooter(memory)
	if err == nil {
		err = p.use(meta)
	}
	if err != nil {
		return nil, err
	}
	//guard: refuses the footer of another writer, whose bounds can have another meaning
	if p.checksums.size < 0 {
		return nil, damage.New(damage.Unsupported, f.Name(), p.footerAt, "the footer has no checksum (%s), so rowtocol did not write the file", checksumsKey)
	}
	return meta, nil
}
