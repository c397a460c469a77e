package cfile

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"sort"

	"github.com/rowtocol/rowtocol/cfile/encoding"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// Verify decodes the whole part and checks it: the document; every file's header, footer,
// indexes, dictionary and blocks; that a file has no other bytes; and that lengths, values
// and indexes agree with each other and with the document. It returns the first damage of
// each file, joined; errors.As finds a *damage.Error in it. A failing reader or a cancelled
// ctx ends it at once.
func (p *part) Verify(ctx context.Context, run format.Runner) error {
	var found damage.Found
	if p.document != nil {
		if err := found.Add(p.verifyDocument()); err != nil {
			return err
		}
	}
	damaged := make([][]error, len(p.columns))
	_, err := run.Check(ctx, len(damaged), func(ctx context.Context, i int) (err error) {
		damaged[i], err = p.verifyColumn(ctx, run, i)
		return err
	})
	if err != nil {
		return err
	}
	for i, all := range damaged {
		before := found.Len()
		for _, d := range all {
			_ = found.Add(d) // damage is kept
		}
		if found.Len() > before || p.document == nil {
			continue
		}
		if err := found.Add(p.verifyRows(ctx, i)); err != nil {
			return err
		}
	}
	return found.Err()
}

// verifyColumn checks the files of a column, and compares them with the document. It returns the
// damage of each file.
func (p *part) verifyColumn(ctx context.Context, run format.Runner, col int) (damaged []error, err error) {
	blocks := len(p.columns[col].blocks)
	lengths, values := make([]blockSize, blocks), make([]blockSize, blocks)
	damaged, err = run.Check(ctx, 2, func(ctx context.Context, i int) error {
		if i == 0 {
			return p.verifyLengths(ctx, run, col, lengths)
		}
		return p.verifyValues(ctx, run, col, values)
	})
	if err == nil && damaged[0] == nil && damaged[1] == nil && p.document != nil {
		damaged[0] = p.verifySizes(col, lengths, values)
	}
	return damaged, err
}

// blockSize is the size of a block of the document in a file of its column.
type blockSize struct{ raw, stored int64 }

// verifySizes compares the sizes of blocks in both files with the document.
func (p *part) verifySizes(col int, lengths, values []blockSize) error {
	c := &p.columns[col]
	for i := range c.blocks {
		b := &c.blocks[i]
		//guard: rejects a block that is too large for readers
		if b.raw > p.max {
			return p.damaged(c, i, damage.Unsupported, "a block of %d bytes exceeds the limit of %d", b.raw, p.max)
		}
		is := blockSize{lengths[i].raw + values[i].raw, lengths[i].stored + values[i].stored}
		//guard: rejects wrong sizes, by which readers reserve memory
		if is != (blockSize{b.raw, b.stored}) {
			return p.damaged(c, i, damage.Size, "a block of %d bytes, stored in %d, but the files have %d, stored in %d",
				b.raw, b.stored, is.raw, is.stored)
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
func (p *part) verifyRows(ctx context.Context, col int) error {
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
func (p *part) verifyLengths(ctx context.Context, run format.Runner, col int, sizes []blockSize) error {
	c := &p.columns[col]
	if !c.lengths {
		return nil
	}
	sums := blockSums{blocks: c.blocks, sizes: sizes, end: func(b *partBlock) int64 { return b.firstUnit + b.units }}
	return p.verifyFile(ctx, run, c.lengthsFile, sums, func(sums *blockSums) func(*Rows) error {
		return func(r *Rows) error {
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
		}
	})
}

// verifyValues checks the file of a column's values.
func (p *part) verifyValues(ctx context.Context, run format.Runner, col int, sizes []blockSize) error {
	c := &p.columns[col]
	if !c.values {
		return nil
	}
	sums := blockSums{blocks: c.blocks, sizes: sizes, end: func(b *partBlock) int64 { return b.firstItem + b.items }}
	switch {
	case p.document == nil:
		sums.blocks = nil // no document describes the file's blocks
	case c.nullable:
		sums.end = func(b *partBlock) int64 { return b.firstUnit + b.units }
	}
	return p.verifyFile(ctx, run, c.valuesFile, sums, func(sums *blockSums) func(*Rows) error {
		restore, v := newRestorer(&c.Column, c.valuesFile.Type), new(column.Vector)
		return func(r *Rows) error {
			n := int64(countValues(&r.Values, c.valuesFile.Type))
			sums.items += n
			sums.size.raw += int64(len(r.Fixed)+len(r.Data)) + n*offsetBytes(c.valuesFile.Type)
			if restore.text() {
				return nil
			}
			v.Reset()
			return restore.end(v, r)
		}
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
	sizes  []blockSize            // gets the blocks' sizes in the file
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
		s.sizes[s.next], s.size = s.size, blockSize{}
	}
	return nil
}

// from returns the number of the block of the document that begins with a row, or 0 if no block
// with rows begins there.
func (s *blockSums) from(row int64) int {
	i := sort.Search(len(s.blocks), func(i int) bool { return s.end(&s.blocks[i]) > row })
	if i == 0 || i == len(s.blocks) || s.end(&s.blocks[i-1]) != row {
		return 0
	}
	return i
}

// verifyFile checks a file of the part. checks returns a function that checks rows, and adds them
// to sums; each range of the file's blocks has its own.
func (p *part) verifyFile(ctx context.Context, run format.Runner, f *partFile, sums blockSums, checks func(*blockSums) func(*Rows) error) error {
	memory := &column.Reservation{Account: p.memory}
	defer memory.ShrinkTo(0)
	file, err := f.openBy(p, column.NewShared(memory))
	if err == nil {
		err = verifyFile(ctx, run, file, sums, checks)
	}
	if d := (*damage.Error)(nil); errors.As(err, &d) {
		damage.SetFile(d, f.stored.Name())
		d.Column = p.columns[f.column].Name
	}
	return err
}

func verifyFile(ctx context.Context, run format.Runner, f *File, sums blockSums, checks func(*blockSums) func(*Rows) error) error {
	f.crcs = make(map[int64]uint32)
	m, err := f.mapFile()
	if err != nil {
		return err
	}
	at := int64(0)
	for i := range m.regions {
		r := &m.regions[i]
		//guard: rejects bytes that belong to nothing
		if r.offset != at {
			return f.gap(at, r)
		}
		at += r.size
	}
	if p := f.footer.Dictionary; p != nil {
		if _, err := f.dictionary(); err != nil {
			return err
		}
	}
	starts := rangesOf(f, &sums, m.blocks)
	ends := append(starts[1:], len(m.blocks))
	err = run.First(ctx, len(starts), func(ctx context.Context, i int) error {
		v := rangeVerifier{f: f, sums: sums}
		v.check = checks(&v.sums)
		if f.footer.Value != nil && f.footer.Type.Keyed() {
			v.keys = &keyVerifier{f: f}
		}
		return v.blocks(ctx, m.blocks, starts[i], ends[i])
	})
	if err != nil {
		return err
	}
	return f.checkBlocksCRC(m.regions)
}

// verifyRange is how many stored bytes of a file's blocks are verified one after another.
var verifyRange = int64(1 << 20) // less in tests

// rangesOf returns the first data block of each range that can be verified apart. A range begins
// with a block of the document. Keys are compared from the file's first value to the last.
func rangesOf(f *File, sums *blockSums, blocks []DataBlock) (starts []int) {
	starts, size := []int{0}, int64(0)
	for i := range blocks {
		if size > verifyRange && f.footer.Value == nil && sums.from(blocks[i].Ordinal) > 0 {
			starts, size = append(starts, i), 0
		}
		size += int64(blocks[i].Size)
	}
	return starts
}

// checkBlocksCRC compares the checksum of all blocks' checksums with that in the footer, if
// there is one. The blocks were read.
func (f *File) checkBlocksCRC(regions []region) error {
	want, ok := f.footer.Get(BlocksCRCKey)
	if !ok {
		return nil
	}
	sum := uint32(0)
	for i := range regions {
		if r := &regions[i]; r.kind != headerRegion && r.kind != footerRegion {
			sum = updateBlocksCRC(sum, f.crcs[r.offset])
		}
	}
	//guard: rejects blocks of another file with the same layout
	if got := binary.LittleEndian.AppendUint32(nil, sum); !bytes.Equal(got, want) {
		return damage.New(damage.Checksum, f.name, f.footerAt, "the checksum of the blocks is %x, the footer says %x", got, want)
	}
	return nil
}

// rangeVerifier checks a range of the data blocks of a file.
type rangeVerifier struct {
	f     *File
	sums  blockSums
	check func(*Rows) error
	rows  rowDecoder
	batch Rows
	keys  *keyVerifier // nil for a file without a value index
}

// blocks reads the data blocks from start to end. If the rows do not lead up to the block at end,
// it reads on, and finds the damage in that block.
func (v *rangeVerifier) blocks(ctx context.Context, blocks []DataBlock, start, end int) error {
	reader := blockReader{f: v.f, from: v.f.readBlock}
	defer reader.close()
	v.rows.f = v.f
	row, footer := int64(0), v.f.footer
	if start > 0 {
		row = blocks[start].Ordinal
		v.sums.next = v.sums.from(row)
		v.sums.items = v.sums.blocks[v.sums.next].firstItem
	}
	for i := start; i < len(blocks) && (i < end || row != blocks[i].Ordinal); i++ {
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
	if end == len(blocks) && row != footer.Values {
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
func (v *rangeVerifier) block(raw []byte, b *DataBlock, row int64) error {
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
