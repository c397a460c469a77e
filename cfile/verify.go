package cfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Verify decodes the whole part and checks it: the document; every file's header, footer,
// indexes, dictionary and blocks; that a file has no other bytes; and that lengths, values
// and indexes agree with each other and with the document. It returns the first damage of
// each file, joined; errors.As finds a *damage.Error in it. A failing reader or a cancelled
// ctx ends it at once.
func (p *part) Verify(ctx context.Context) error {
	var found damage.Found
	if p.document != nil {
		if err := found.Add(p.verifyDocument()); err != nil {
			return err
		}
	}
	for i := range p.columns {
		before, sizes := found.Len(), make([]blockSize, len(p.columns[i].blocks))
		for _, verify := range []func(context.Context, int, []blockSize) error{p.verifyLengths, p.verifyValues} {
			if err := found.Add(verify(ctx, i, sizes)); err != nil {
				return err
			}
		}
		if found.Len() > before || p.document == nil {
			continue
		}
		for _, verify := range []func(context.Context, int, []blockSize) error{p.verifySizes, p.verifyRows} {
			if err := found.Add(verify(ctx, i, sizes)); err != nil {
				return err
			}
		}
	}
	return found.Err()
}

// blockSize is the size of a block of the document in all files of its column.
type blockSize struct{ raw, stored int64 }

// verifySizes compares the sizes of blocks with the document.
func (p *part) verifySizes(_ context.Context, col int, sizes []blockSize) error {
	c := &p.columns[col]
	for i := range c.blocks {
		b := &c.blocks[i]
		//guard: rejects a block that is too large for readers
		if b.raw > p.max {
			return p.damaged(c, i, damage.Unsupported, "a block of %d bytes exceeds the limit of %d", b.raw, p.max)
		}
		//guard: rejects wrong sizes, by which readers reserve memory
		if want := (blockSize{b.raw, b.stored}); want != sizes[i] {
			return p.damaged(c, i, damage.Size, "a block of %d bytes, stored in %d, but the files have %d, stored in %d",
				b.raw, b.stored, sizes[i].raw, sizes[i].stored)
		}
	}
	return nil
}

// damaged returns damage of a block in the document.
func (p *part) damaged(c *partColumn, i int, kind damage.Kind, reason string, args ...any) error {
	d := damage.New(kind, p.document.Name(), -1, reason, args...)
	d.Column, d.Block = c.Name, int64(i)
	return d
}

// verifyDocument reads the document again, because it may have changed.
func (p *part) verifyDocument() error {
	_, _, err := p.readDocument()
	if err == nil {
		p.memory.Release(documentMemory * p.document.Size())
	}
	return err
}

// verifyRows checks that the blocks of a child column begin with the items of the rows that
// the document names.
func (p *part) verifyRows(ctx context.Context, col int, _ []blockSize) error {
	c := &p.columns[col]
	if c.Parent < 0 || c.uncounted() {
		return nil
	}
	for i := range c.blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &c.blocks[i]
		unit, err := p.unitOf(c, b.firstRow)
		if err != nil {
			return err
		}
		//guard: rejects a block whose items belong to other rows
		if unit != b.firstUnit {
			return p.damaged(c, i, damage.Count, "the block begins with unit %d, its first row with %d", b.firstUnit, unit)
		}
	}
	return nil
}

// verifyLengths checks the file of a column's lengths.
func (p *part) verifyLengths(ctx context.Context, col int, sizes []blockSize) error {
	c := &p.columns[col]
	if !c.lengths {
		return nil
	}
	sums := &blockSums{blocks: c.blocks, sizes: sizes, end: func(b *partBlock) int64 { return b.firstUnit + b.units }}
	return p.verifyFile(ctx, c.lengthsFile, sums, func(r *Rows) error {
		sums.size.raw += int64(len(r.Fixed))
		for b := r.Fixed; len(b) > 0; b = b[4:] {
			n := int64(int32(binary.LittleEndian.Uint32(b)))
			//guard: rejects a negative length
			if n < 0 {
				return damage.New(damage.Value, "", -1, "length %d", n)
			}
			//guard: rejects a branch with two values
			if n > 1 && c.Optional {
				return damage.New(damage.Count, "", -1, "length %d in a branch of a union", n)
			}
			sums.items += n
		}
		return nil
	})
}

// verifyValues checks the file of a column's values.
func (p *part) verifyValues(ctx context.Context, col int, sizes []blockSize) error {
	c := &p.columns[col]
	if !c.values {
		return nil
	}
	sums := &blockSums{blocks: c.blocks, sizes: sizes, end: func(b *partBlock) int64 { return b.firstItem + b.items }}
	switch {
	case p.document == nil:
		sums.blocks = nil // no document describes the file's blocks
	case c.nullable:
		sums.end = func(b *partBlock) int64 { return b.firstUnit + b.units }
	}
	restore, v := newRestorer(&c.Column, c.valuesFile.Type), new(column.Vector)
	return p.verifyFile(ctx, c.valuesFile, sums, func(r *Rows) error {
		n := int64(countValues(&r.Values, c.valuesFile.Type))
		sums.items += n
		sums.size.raw += int64(len(r.Fixed)+len(r.Data)) + n*offsetBytes(c.valuesFile.Type)
		if restore.text() {
			return nil
		}
		v.Reset()
		return restore.end(v, r)
	})
}

// offsetBytes returns the size of a decoded value besides its bytes.
func offsetBytes(t Type) int64 {
	if t.Width() > 0 {
		return 0
	}
	return offsetWidth
}

// blockSums compares the data blocks of a file with the blocks of the document.
type blockSums struct {
	blocks []partBlock
	end    func(*partBlock) int64 // returns the row of the file after a block
	sizes  []blockSize            // sums of the blocks' sizes in the column's files
	next   int                    // number of the current block
	items  int64                  // items found so far
	size   blockSize              // size of the current block so far
}

// reach ends the blocks before a row, with which a data block begins. All rows before it were
// read.
func (s *blockSums) reach(row int64) error {
	for ; s.next < len(s.blocks) && s.end(&s.blocks[s.next]) <= row; s.next++ {
		b := &s.blocks[s.next]
		//guard: rejects values that belong to other rows
		if s.end(b) != row || s.items != b.firstItem+b.items {
			d := damage.New(damage.Count, "", -1, "%d rows with %d items end here, the part says %d with %d", row, s.items, s.end(b), b.firstItem+b.items)
			d.Block = int64(s.next)
			return d
		}
		s.sizes[s.next].raw += s.size.raw
		s.sizes[s.next].stored += s.size.stored
		s.size = blockSize{}
	}
	return nil
}

// verifyFile checks a file of the part, and calls check with its rows.
func (p *part) verifyFile(ctx context.Context, f *partFile, sums *blockSums, check func(*Rows) error) error {
	memory := &column.Reservation{Account: p.memory}
	defer memory.ShrinkTo(0)
	file, err := f.openBy(p, memory)
	if err == nil {
		v := fileVerifier{f: file, sums: sums, check: check}
		err = v.verify(ctx)
	}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		damage.SetFile(d, f.stored.Name())
		d.Column = p.columns[f.column].Name
	}
	return err
}

// fileVerifier checks one file.
type fileVerifier struct {
	f     *File
	sums  *blockSums
	check func(*Rows) error
	rows  rowDecoder
	batch Rows
	keys  *keyVerifier // nil for a file without a value index
}

func (v *fileVerifier) verify(ctx context.Context) error {
	v.f.crcs = make(map[int64]uint32)
	m, err := v.f.mapFile()
	if err != nil {
		return err
	}
	at := int64(0)
	for i := range m.regions {
		r := &m.regions[i]
		//guard: rejects bytes that belong to nothing
		if r.offset != at {
			return v.f.gap(at, r)
		}
		at += r.size
	}
	if p := v.f.footer.Dictionary; p != nil {
		if _, err := v.f.dictionary(); err != nil {
			return err
		}
	}
	if v.f.footer.Value != nil && v.f.footer.Type.Keyed() {
		v.keys = &keyVerifier{f: v.f}
	}
	if err := v.blocks(ctx, m.blocks); err != nil {
		return err
	}
	return v.checksums(m.regions)
}

// checksums compares the checksum of all blocks' checksums with that in the footer, if there
// is one. The blocks were read.
func (v *fileVerifier) checksums(regions []region) error {
	want, ok := v.f.footer.Get(BlocksCRCKey)
	if !ok {
		return nil
	}
	sum := uint32(0)
	for i := range regions {
		if r := &regions[i]; r.kind != headerRegion && r.kind != footerRegion {
			sum = updateBlocksCRC(sum, v.f.crcs[r.offset])
		}
	}
	//guard: rejects blocks of another file with the same layout
	if got := binary.LittleEndian.AppendUint32(nil, sum); !bytes.Equal(got, want) {
		return damage.New(damage.Checksum, v.f.name, v.f.footerAt, "the checksum of the blocks is %x, the footer says %x", got, want)
	}
	return nil
}

// blocks reads all data blocks.
func (v *fileVerifier) blocks(ctx context.Context, blocks []DataBlock) error {
	reader := blockReader{f: v.f, from: v.f.readBlock}
	defer reader.close()
	v.rows.f = v.f
	row, footer := int64(0), v.f.footer
	for i := range blocks {
		if err := ctx.Err(); err != nil {
			return err
		}
		b := &blocks[i]
		raw, err := reader.read(b.Pointer)
		if err != nil {
			return err
		}
		if isBloom(footer) {
			if _, _, err := parseFilter(raw); err != nil {
				return v.f.locate(err, b.Pointer)
			}
			continue
		}
		if err := v.sums.reach(row); err != nil {
			return err
		}
		if err := v.block(raw, b, row); err != nil {
			return v.f.locate(err, b.Pointer)
		}
		row += int64(v.rows.rows)
		v.sums.size.stored += int64(b.Size)
	}
	//guard: rejects a file whose blocks have fewer rows
	if row != footer.Values {
		return damage.New(damage.Count, v.f.name, v.f.footerAt, "the data blocks have %d rows, the footer says %d", row, footer.Values)
	}
	if err := v.keys.end(); err != nil {
		return err
	}
	return v.sums.reach(row)
}

// verifyBatch is how many rows are decoded at a time.
const verifyBatch = 4096

// block decodes a block, which must begin with a row.
func (v *fileVerifier) block(raw []byte, b *DataBlock, row int64) error {
	if err := v.rows.reset(raw); err != nil {
		return err
	}
	//guard: rejects an index that leads to another row
	if own := v.rows.ordinal(); own != row || b.Ordinal >= 0 && b.Ordinal != row {
		return damage.New(damage.Count, "", 0, "the block says that it begins with row %d, the index says %d, expected %d", own, b.Ordinal, row)
	}
	v.keys.begin(b.Key)
	for v.rows.left > 0 {
		v.batch.Reset()
		_, err := v.rows.read(&v.batch, verifyBatch)
		if err == nil {
			err = v.keys.values(&v.batch.Values)
		}
		if err == nil {
			err = v.check(&v.batch)
		}
		if err != nil {
			return err
		}
	}
	return v.rows.end()
}

// keyVerifier compares the values of a file with its value index. A nil keyVerifier checks
// nothing.
type keyVerifier struct {
	f           *File
	first, last []byte // keys of the first value of the file and of the last one so far
	this        []byte
	index       []byte // the index's key of a block that begins; nil inside a block
}

func (k *keyVerifier) begin(key []byte) {
	if k != nil {
		k.index = key
	}
}

// values checks the next values.
func (k *keyVerifier) values(s *encoding.Values) (err error) {
	if k == nil {
		return nil
	}
	t := k.f.footer.Type
	for i := range countValues(s, t) {
		value := []byte(nil)
		if w := t.Width(); w > 0 {
			value = s.Fixed[i*w : (i+1)*w]
		} else {
			value = s.Binary(i)
		}
		if k.this, err = AppendKey(k.this[:0], t, value); err != nil {
			return err
		}
		if err := k.compare(); err != nil {
			return err
		}
		k.index = nil
		k.last, k.this = k.this, k.last
	}
	return nil
}

// compare compares the key of the next value with the one before it, and with the index. A
// file without positional index, such as a DeltaFile, may have values that do not ascend, and
// keys that are only their beginnings.
func (k *keyVerifier) compare() error {
	if k.first == nil {
		k.first = append([]byte{}, k.this...)
	}
	ordered := k.f.footer.Positional != nil
	//guard: rejects an index over values that do not ascend
	if ordered && bytes.Compare(k.last, k.this) > 0 {
		return damage.New(damage.Value, "", -1, "a value is less than the one before it, but the file has a value index")
	}
	ok := k.index == nil || bytes.Equal(k.index, shorten(k.last, k.this)) || bytes.Equal(k.index, k.this) ||
		!ordered && bytes.HasPrefix(k.this, k.index)
	//guard: rejects an index with a wrong key
	if !ok {
		return damage.New(damage.Value, "", -1, "the block's key in the value index is %x, its first value has %x", k.index, k.this)
	}
	return nil
}

// end compares the keys in the metadata with the first and the last value.
func (k *keyVerifier) end() error {
	if k == nil {
		return nil
	}
	for _, own := range []Pair{{minKey, k.first}, {maxKey, k.last}} {
		//guard: rejects wrong bounds
		if key, ok := k.f.footer.Get(own.Key); ok && !bytes.Equal(key, own.Value) {
			return damage.New(damage.Value, k.f.name, k.f.footerAt, "%s is %x, expected %x", own.Key, key, own.Value)
		}
	}
	return nil
}
