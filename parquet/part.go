package parquet

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// part implements format.ColumnPart: a file, whose rows are those of its row groups one after another.
type part struct {
	file          format.File
	version       int
	rows          int64
	schema        string
	pairs         []format.Metadata
	tree          *tree
	groups        []partGroup
	columns       []partColumn // by leaf
	chunks        []partChunk  // by row group, and in it by leaf
	lengths       []int        // by column, the leaf whose levels are read for it
	memory        column.Account
	max           int64 // most bytes of a page
	footerAt      int64
	checksums     footerChecksums
	checksumTable checksumTable
	tables        tables
	// footer is kept only by a part that is verified or dumped.
	footer *pq.FileMetaData

	unverified atomic.Bool
}

const (
	// encryptedMagic ends a file whose footer is encrypted.
	encryptedMagic = "PARE"
	// maxFooter is far more than the footer of any file whose schema can be read.
	maxFooter = 256 << 20
	// firstRead is the size of the first read, at the end of the file. Most footers are smaller.
	firstRead = 64 << 10
)

// schemaKeys are the keys of schemas in the metadata, the first choice first. Old versions of
// parquet-avro wrote the last one.
var schemaKeys = []string{rowsSchemaKey, schemaKey, "avro.schema"}

// openPart opens a part, which is one file. Errors are *damage.Error, or wrap those of reading.
func openPart(files []format.File, o format.OpenOptions) (format.Part, error) {
	//guard: rejects a part of several files
	if len(files) != 1 {
		return nil, damage.New(damage.Unsupported, files[0].Name(), -1, "a part of %d files, expected one", len(files))
	}
	o = o.EnsureDefaults()
	p := &part{file: files[0], memory: o.Memory, max: o.MaxBlock}
	reserved := &column.Reservation{Account: p.memory}
	defer reserved.ShrinkTo(0)
	meta, before, err := p.readFooter(reserved)
	if err == nil {
		err = p.use(meta)
	}
	if err != nil {
		return nil, err
	}
	p.keep(before)
	return p, nil
}

// reopen opens the file again, because it may have changed, and keeps the footer. The caller
// releases the memory that the result reserves of its own account.
func (p *part) reopen() (again *part, memory *column.Reservation, err error) {
	memory = &column.Reservation{Account: p.memory}
	again = &part{file: p.file, memory: column.NewShared(memory), max: p.max}
	if err := again.checkHead(); err != nil {
		return again, memory, err
	}
	var before []byte
	if again.footer, before, err = again.readFooter(memory); err == nil {
		err = again.use(again.footer)
	}
	if err == nil {
		again.keep(before)
	}
	return again, memory, err
}

// use keeps what is needed of the footer.
func (p *part) use(meta *pq.FileMetaData) (err error) {
	p.version, p.rows = int(meta.Version), meta.NumRows
	stored, err := p.readMetadata(meta)
	if err != nil {
		return err
	}
	if p.tree, err = newTree(p.schema, stored); err != nil {
		damage.SetFile(err, p.file.Name())
		return err
	}
	if err := p.checkSchema(meta.Schema); err != nil {
		return err
	}
	return p.addGroups(meta)
}

// readFooter reads the footer and checks the magic at both ends. reserved accounts for the
// memory of the result. before is what was also read, up to the footer.
func (p *part) readFooter(reserved *column.Reservation) (meta *pq.FileMetaData, before []byte, err error) {
	size, name := p.file.Size(), p.file.Name()
	//guard: rejects a file too short for its magics
	if size < int64(len(magic)+trailer) {
		return nil, nil, damage.New(damage.Truncated, name, size, "a file of %d bytes, expected at least %d", size, len(magic)+trailer)
	}
	tail := make([]byte, min(size, firstRead))
	if err := damage.ReadFull(p.file, tail, size-int64(len(tail)), name); err != nil {
		return nil, nil, err
	}
	if err := p.checkMagic(tail); err != nil {
		return nil, nil, err
	}
	length := int64(binary.LittleEndian.Uint32(tail[len(tail)-trailer:]))
	need := length + int64(trailer)
	//guard: rejects a footer that begins before the file
	if need > size-int64(len(magic)) {
		return nil, nil, damage.New(damage.Truncated, name, size-int64(trailer), "a footer of %d bytes in a file of %d", length, size)
	}
	//guard: bounds the size of a footer
	if length > maxFooter {
		return nil, nil, damage.New(damage.Unsupported, name, size-int64(trailer), "a footer of %d bytes exceeds the limit of %d", length, maxFooter)
	}
	if int64(len(tail)) < need {
		if tail, err = p.readMore(tail, min(need+firstRead, size), reserved); err != nil {
			return nil, nil, err
		}
	}
	p.footerAt = size - need
	before, tail = tail[:int64(len(tail))-need], tail[int64(len(tail))-need:]
	meta, err = p.parseFooter(tail[:length], reserved)
	return meta, before, err
}

// readMore returns the last bytes of the file. It reads those before tail, which was read.
func (p *part) readMore(tail []byte, last int64, reserved *column.Reservation) ([]byte, error) {
	if err := reserved.Reserve(last); err != nil {
		return nil, fmt.Errorf("%s: a footer of up to %d bytes: %w", p.file.Name(), last, err)
	}
	all := make([]byte, last)
	more := last - int64(len(tail))
	copy(all[more:], tail)
	return all, damage.ReadFull(p.file, all[:more], p.file.Size()-last, p.file.Name())
}

// checkMagic checks the last four bytes of the file, and the first four if tail, which ends the
// file, has them. If it does not, checkHead checks them.
func (p *part) checkMagic(tail []byte) error {
	last, at := tail[len(tail)-len(magic):], p.file.Size()-int64(len(magic))
	switch {
	//guard: refuses a file whose footer is encrypted
	case string(last) == encryptedMagic:
		return damage.New(damage.Unsupported, p.file.Name(), at, "the footer is encrypted")
	//guard: rejects a file that is not a whole Parquet file
	case string(last) != magic:
		return damage.New(damage.Magic, p.file.Name(), at, "found %q, expected %q", last, magic)
	case int64(len(tail)) == p.file.Size():
		return p.checkFirst(tail[:len(magic)])
	}
	return nil
}

// checkHead reads and checks the first four bytes. Rows can be read without them, and on remote
// storage they take a request.
func (p *part) checkHead() error {
	var head [len(magic)]byte
	if err := damage.ReadFull(p.file, head[:], 0, p.file.Name()); err != nil {
		return err
	}
	return p.checkFirst(head[:])
}

func (p *part) checkFirst(head []byte) error {
	//guard: rejects a file that does not begin as Parquet
	if string(head) != magic {
		return damage.New(damage.Magic, p.file.Name(), 0, "found %q, expected %q", head, magic)
	}
	return nil
}

// parseFooter parses the footer and checks it against its checksum.
func (p *part) parseFooter(b []byte, reserved *column.Reservation) (*pq.FileMetaData, error) {
	meta := new(pq.FileMetaData)
	if err := p.unmarshal(p.footerAt, b, meta, reserved); err != nil {
		return nil, err
	}
	var err error
	if p.checksums, err = readChecksums(p.file.Name(), p.footerAt, b, meta); err != nil {
		return nil, err
	}
	//guard: rejects a table that begins before the file
	if p.checksums.size > p.footerAt-int64(len(magic)) {
		return nil, damage.New(damage.Size, p.file.Name(), p.footerAt, "a table of %d bytes before the footer at %d", p.checksums.size, p.footerAt)
	}
	switch {
	//guard: refuses encrypted columns
	case meta.EncryptionAlgorithm.Value != nil:
		return nil, damage.New(damage.Unsupported, p.file.Name(), p.footerAt, "the file is encrypted")
	//guard: rejects a negative number of rows
	case meta.NumRows < 0:
		return nil, damage.New(damage.Count, p.file.Name(), p.footerAt, "%d rows", meta.NumRows)
	}
	return meta, nil
}

// unmarshal reads a document that must fill b. It reserves the memory that the document needs.
func (p *part) unmarshal(at int64, b []byte, v any, reserved *column.Reservation) error {
	n, memory, err := walkDocument(p.file.Name(), at, b, reflect.TypeOf(v).Elem(), nil)
	//guard: rejects bytes after a document
	if err == nil && n != len(b) {
		err = damage.New(damage.Trailing, p.file.Name(), at+int64(n), "%d bytes after a document", len(b)-n)
	}
	if err != nil {
		return err
	}
	if err := reserved.Reserve(memory); err != nil {
		return fmt.Errorf("%s: a document of %d bytes at offset %d: %w", p.file.Name(), len(b), at, err)
	}
	return decodeDocument(p.file.Name(), at, b, v)
}

// readMetadata keeps the metadata, and finds the schema of the rows, and how times are stored.
func (p *part) readMetadata(meta *pq.FileMetaData) (stored times, err error) {
	best, known := len(schemaKeys), true
	for _, kv := range meta.KeyValueMetadata {
		if kv.Key == timesKey {
			stored, known = timesNamed(kv.Value)
		}
		p.pairs = append(p.pairs, format.Metadata{Key: kv.Key, Value: []byte(kv.Value)})
		if i := slices.Index(schemaKeys, kv.Key); i >= 0 && i < best {
			best, p.schema = i, kv.Value
		}
	}
	//guard: refuses a file whose rows have no Avro schema
	if best == len(schemaKeys) {
		return stored, damage.New(damage.Unsupported, p.file.Name(), p.footerAt, "the footer has no Avro schema (%s)", schemaKey)
	}
	//guard: refuses times in units that it does not know
	if !known {
		return stored, damage.New(damage.Unsupported, p.file.Name(), p.footerAt, "the footer says that times are stored in another way than %s (%s)", strings.Join(timesNames, ", "), timesKey)
	}
	for i := range p.pairs {
		p.pairs[i].Schema = p.pairs[i].Key == schemaKeys[best]
	}
	return stored, nil
}

// checkSchema compares the footer's schema with that of the Avro schema. Annotations may
// differ, except in the units of numbers: see sameOrder.
func (p *part) checkSchema(got []pq.SchemaElement) error {
	want := p.tree.elements
	//guard: rejects another schema than that of the rows
	if len(got) != len(want) {
		return p.badSchema("the schema has %d elements, the Avro schema makes %d", len(got), len(want))
	}
	for i := range want {
		g, w := &got[i], &want[i]
		same := g.Type == w.Type && g.NumChildren.V == w.NumChildren.V
		if i > 0 { // the root's name has no meaning
			same = same && g.Name == w.Name && g.RepetitionType == w.RepetitionType
		}
		if w.TypeLength.Valid {
			same = same && g.TypeLength == w.TypeLength
		}
		//guard: rejects values of other types than those of the rows
		if !same {
			return p.badSchema("element %d of the schema is %s, the Avro schema makes %s", i, elementText(g), elementText(w))
		}
		//guard: rejects numbers in other units than those of the rows
		if got, want := decimals(g), decimals(w); got >= 0 && want >= 0 && got != want {
			return p.badSchema("element %d of the schema, %s, counts units of 10^-%d, the Avro schema makes 10^-%d", i, elementText(g), got, want)
		}
	}
	return nil
}

func (p *part) badSchema(reason string, args ...any) error {
	return damage.New(damage.Schema, p.file.Name(), p.footerAt, reason, args...)
}

// elementText describes an element of the schema.
func elementText(e *pq.SchemaElement) string {
	text := fmt.Sprintf("%.60q", e.Name)
	if e.RepetitionType.Valid {
		text = strings.ToLower(e.RepetitionType.V.String()) + " " + text
	}
	if !e.Type.Valid {
		return fmt.Sprintf("%s with %d children", text, e.NumChildren.V)
	}
	text += " " + e.Type.V.String()
	if e.TypeLength.Valid {
		text += fmt.Sprintf("(%d)", e.TypeLength.V)
	}
	return text
}

func (p *part) Version() int                { return p.version }
func (p *part) Rows() int64                 { return p.rows }
func (p *part) Schema() string              { return p.schema }
func (p *part) Metadata() []format.Metadata { return p.pairs }
func (p *part) Unverified() bool            { return p.unverified.Load() }

// Columns returns the columns of the rows. A column that has only lengths, and columns below it,
// has no codec, because its lengths are in the pages of a leaf below it. If row groups have different
// codecs, their names are joined by a plus sign. A column is indexed if it is in all row groups.
func (p *part) Columns() []format.Column {
	all := make([]format.Column, len(p.tree.mapping.Columns))
	for i := range all {
		all[i].Column = p.tree.mapping.Columns[i]
	}
	for i := range p.chunks {
		c := &p.chunks[i]
		to, codec := &all[c.leaf.number], codecOf(c.codec).name
		to.Indexed = c.columnIndex.size > 0 && (c.group.number == 0 || to.Indexed)
		to.Filter += c.filter.size
		switch {
		case to.Codec == "":
			to.Codec = codec
		case to.Codec != codec && !slices.Contains(strings.Split(to.Codec, "+"), codec):
			to.Codec += "+" + codec
		}
		if p.checksums.size >= 0 {
			to.Checksum = "crc-32"
		}
	}
	return all
}

// Native implements format.NativePart.
func (p *part) Native(col int) format.Native {
	column := &p.tree.mapping.Columns[col]
	c := &p.columns[p.tree.leafOf[col]]
	switch {
	case c.leaf.number == col:
		return format.Native{Type: c.typeText(), Encodings: c.encodings.names()}
	case strings.HasSuffix(column.Name, ">"):
		return format.Native{Type: "MAP"}
	case strings.HasSuffix(column.Name, "[]"):
		return format.Native{Type: "LIST"}
	}
	return format.Native{Type: "group"}
}

func (p *part) Cursor(col int) (format.Cursor, error) {
	if col < 0 || col >= len(p.tree.mapping.Columns) {
		return nil, fmt.Errorf("parquet: column %d of %d", col, len(p.tree.mapping.Columns))
	}
	return p.cursor(col), nil
}

// checksumTable is the table of checksums before the footer. It is read when it is needed.
type checksumTable struct {
	mu    sync.Mutex
	table []byte
}

// checksum returns entry i of the table of checksums. The file must have the table.
func (p *part) checksum(i int) (uint32, error) {
	t := &p.checksumTable
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.table == nil {
		table, err := p.readChecksumTable()
		if err != nil {
			return 0, err
		}
		t.table = table
	}
	return binary.LittleEndian.Uint32(t.table[4*i:]), nil
}

// readChecksumTable reads the table of checksums.
func (p *part) readChecksumTable() ([]byte, error) {
	at := p.footerAt - p.checksums.size
	if err := p.memory.Reserve(p.checksums.size); err != nil {
		return nil, fmt.Errorf("%s: a table of %d bytes: %w", p.file.Name(), p.checksums.size, err)
	}
	table := make([]byte, p.checksums.size)
	err := p.readTable(table, at, offsetIndexes)
	if err == nil {
		err = p.checkBytes(table, p.checksums.crc, at, "table of checksums")
	}
	if err != nil {
		p.memory.Release(p.checksums.size)
		return nil, err
	}
	return table, nil
}
