package cfile

import (
	"bytes"
	"encoding/binary"
	"sort"

	"github.com/rowtocol/rowtocol/format/damage"
)

// maxDepth is more levels than any index has: with two entries in each block, an index of so
// many levels would have more entries than there are ordinals.
const maxDepth = 34

// tree walks an index of a file. It is at a data block, before the first data block or after the
// last, and keeps the path: the index blocks that lead to the data block. After an error it fails
// until the next seek.
type tree struct {
	f          *File
	root       Pointer
	positional bool
	levels     []*level // from the root on; levels beyond depth are from an earlier path
	depth      int      // number of levels of the path; 0 before the first data block
	err        error
	loaded     func(n node) error // called for each index block, unless nil
}

// level is the index block of the path at one level.
type level struct {
	blocks blockReader
	block  Pointer // the zero Pointer if there is none
	index  index
	entry  int // number of the path's entry
}

// node is a block of an index, or a data block that the index points to.
type node struct {
	Pointer
	level int    // 0 is the root
	key   []byte // key of the entry that points to the block; nil for the root
	index *index // the content of an index block; nil for data blocks
}

// tree returns the positional or the value index, or nil if the file does not have it.
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

// load reads a block into level d. Its entries point to blocks from the offset from on.
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
		from: from, to: p.Offset, minSize: t.f.minBlock(),
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

// current returns the path's entry.
func (l *level) current() (key []byte, p Pointer) { return l.index.entry(l.entry) }

// following returns the next key after the path in the levels above d. It is the key of the first
// block after the subtree of level d. It is nil if there is no such block.
func (t *tree) following(d int) []byte {
	for d--; d >= 0; d-- {
		if l := t.levels[d]; l.entry+1 < l.index.len() {
			key, _ := l.index.entry(l.entry + 1)
			return key
		}
	}
	return nil
}

// seek moves to the last data block whose key is not greater than key. If below is set, the key of
// that block must be less than key. If there is no such block, seek returns false, and the tree is
// before the first block.
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
			return false, nil // only in the root: other blocks begin with the key of their entry
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

// next moves to the next data block. It returns false at the end.
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

// block returns the current data block.
func (t *tree) block() (key []byte, p Pointer) { return t.levels[t.depth-1].current() }

// ordinal returns the ordinal of the first row of the block with a key. It is -1 in a value index.
func (t *tree) ordinal(key []byte) int64 {
	if !t.positional {
		return -1
	}
	return int64(binary.BigEndian.Uint32(key))
}

// peek returns the key of the next data block, or nil after the last one. It reads nothing.
// Only seek has moved the tree.
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

// close releases the memory of the tree, and moves before its first block.
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
// visit ends at the first error of fn.
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

// Height returns the number of levels of the positional or the value index: the index blocks
// that lead to a data block. It is 0 if the file does not have that index.
func (f *File) Height(positional bool) (int, error) {
	t := f.tree(positional)
	if t == nil {
		return 0, nil
	}
	defer t.close()
	_, err := t.next()
	return max(t.depth, 1), err
}
