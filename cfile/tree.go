package cfile

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/rowtocol/rowtocol/format/damage"
)

// maxDepth is more levels than any index has: with two entries to a block it would have
// more than all ordinals.
const maxDepth = 34

// tree walks an index of a file. It stands at a data block, before the first or past the
// last one, and keeps the index blocks on the way to it. After an error it fails until the
// next seek.
type tree struct {
	f          *File
	root       Pointer
	positional bool
	levels     []*level // from the root; those beyond depth are of another way
	depth      int      // levels on the way to the data block; 0 before the first
	err        error
	loaded     func(n node) error // is told of each index block, unless nil
}

// level is an index block on the way.
type level struct {
	blocks blockReader
	block  Pointer // the zero Pointer if there is none
	index  index
	entry  int // that leads on
}

// node is a block as an index has it.
type node struct {
	Pointer
	level int    // 0 is the root
	key   []byte // of the entry that points to it; nil for the root
	index *index // what the block holds; nil for data blocks
}

// tree returns the positional or the value index, nil if the file has none.
func (f *File) tree(positional bool) *tree {
	root := f.footer.Value
	if positional {
		root = f.footer.Positional
	}
	if root == nil {
		return nil
	}
	return &tree{f: f, root: *root, positional: positional}
}

// load makes a block that of a level. Its entries point to blocks after from.
func (t *tree) load(d int, p Pointer, from int64) error {
	//guard: bounds the depth of an index
	if d == maxDepth {
		return damage.New(damage.Unsupported, t.f.name, p.Offset, "an index of more than %d levels", maxDepth)
	}
	if d == len(t.levels) {
		t.levels = append(t.levels, &level{blocks: blockReader{f: t.f, from: t.f.readAt}})
	}
	l := t.levels[d]
	if l.block == p {
		return nil
	}
	l.block = Pointer{}
	raw, err := l.blocks.read(p)
	if err != nil {
		return err
	}
	rules := indexRules{
		positional: t.positional, values: t.f.footer.Values,
		from: from, to: p.Offset, least: t.f.leastBlock(),
		below: t.following(d),
	}
	if d > 0 {
		rules.first, _ = t.levels[d-1].current()
	}
	if l.index, err = parseIndex(raw, &rules); err != nil {
		return t.f.locate(err, p)
	}
	l.block = p
	if t.loaded != nil {
		return t.loaded(node{p, d, rules.first, &l.index})
	}
	return nil
}

// current is the entry that leads on.
func (l *level) current() (key []byte, p Pointer) { return l.index.entry(l.entry) }

// following is the key that follows the path, as the levels above d have it: that of the first block
// which is not below the one of level d. It is nil if there is none.
func (t *tree) following(d int) []byte {
	for d--; d >= 0; d-- {
		if l := t.levels[d]; l.entry+1 < l.index.len() {
			key, _ := l.index.entry(l.entry + 1)
			return key
		}
	}
	return nil
}

// seek moves to the last data block whose key is not greater than key, or, if below is set,
// is less. It is false, and the tree before the first block, if there is none.
func (t *tree) seek(key []byte, below bool) (ok bool, err error) {
	t.depth, t.err = 0, nil
	p := t.root
	for d := 0; ; d++ {
		if t.err = t.load(d, p, t.f.headerSize); t.err != nil {
			return false, t.err
		}
		l := t.levels[d]
		l.entry = sort.Search(l.index.len(), func(i int) bool {
			k, _ := l.index.entry(i)
			c := bytes.Compare(k, key)
			return c > 0 || below && c == 0
		}) - 1
		if l.entry < 0 {
			return false, nil // in the root: other blocks begin with the key that leads to them
		}
		if l.index.leaf {
			t.depth = d + 1
			return true, nil
		}
		_, p = l.current()
	}
}

// reset moves before the first block.
func (t *tree) reset() { t.depth, t.err = 0, nil }

// next moves to the next data block. It is false at the end.
func (t *tree) next() (ok bool, err error) {
	if t.err == nil {
		ok, t.err = t.step()
	}
	return ok, t.err
}

func (t *tree) step() (ok bool, err error) {
	d, from := t.depth-1, t.f.headerSize
	for d >= 0 && t.levels[d].entry+1 == t.levels[d].index.len() {
		d--
	}
	switch {
	case d >= 0:
		t.levels[d].entry++
	case t.depth > 0:
		return false, nil
	default:
		if err := t.load(0, t.root, from); err != nil || t.levels[0].index.len() == 0 {
			return false, err
		}
		d, t.levels[0].entry = 0, 0
	}
	for ; !t.levels[d].index.leaf; d++ {
		from = t.f.headerSize
		if t.depth > d+1 {
			// The blocks of a level follow each other.
			before := &t.levels[d+1].index
			_, p := before.entry(before.len() - 1)
			from = p.end()
		}
		_, p := t.levels[d].current()
		if err := t.load(d+1, p, from); err != nil {
			return false, err
		}
		t.levels[d+1].entry = 0
	}
	t.depth = d + 1
	return true, nil
}

// block is the data block at which the tree stands.
func (t *tree) block() (key []byte, p Pointer) { return t.levels[t.depth-1].current() }

// ordinal is that of the first row of a block with the key; -1 by the value index.
func (t *tree) ordinal(key []byte) int64 {
	if !t.positional {
		return -1
	}
	return int64(binary.BigEndian.Uint32(key))
}

// peek is the key of the next data block, nil if there is none. It is known without reading.
// The tree has been moved by seek.
func (t *tree) peek() []byte {
	if t.depth > 0 {
		return t.following(t.depth)
	}
	if root := &t.levels[0].index; root.len() > 0 {
		key, _ := root.entry(0)
		return key
	}
	return nil
}

// close gives the memory of the tree back, which is before its first block then.
func (t *tree) close() {
	if t == nil {
		return
	}
	for _, l := range t.levels {
		l.blocks.close()
	}
	t.levels = nil
	t.reset()
}

// visit calls fn for the blocks of an index and the data blocks that it points to, parents
// before children, in the order of the keys. The bytes of a node are valid during the call.
// An error of fn ends it.
func (f *File) visit(root Pointer, fn func(n node) error) error {
	t := &tree{f: f, root: root, loaded: fn}
	t.positional = f.footer.Positional != nil && *f.footer.Positional == root
	defer t.close()
	for {
		ok, err := t.next()
		if err != nil || !ok {
			return err
		}
		key, p := t.block()
		if err := fn(node{p, t.depth, key, nil}); err != nil {
			return err
		}
	}
}

// Height is the number of levels of the positional index, or of the value index: the index
// blocks on the way to a data block. It is 0 if there is no such index.
func (f *File) Height(positional bool) (int, error) {
	t := f.tree(positional)
	if t == nil {
		return 0, nil
	}
	defer t.close()
	_, err := t.next()
	return max(t.depth, 1), err
}
