package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/rowtocol/rowtocol/format/column"
)

// Options control a comparison.
type Options struct {
	// Workers is the number of blocks that are compared at the same time. The result does not
	// depend on it.
	Workers int
	// Memory accounts for the blocks that are being compared. If it has no memory for another
	// block, that block waits until others are compared.
	Memory column.Account
	// AnyOrder says that the columns have the rows of all inputs in another order. Then
	// the number and the contents of all rows are compared, in bounded memory. The result
	// does not say which rows differ.
	AnyOrder bool
	// ValidText says that the columns may have U+FFFD in place of each run of bytes that are not
	// UTF-8. Then strings of the inputs are compared after the same replacement, except in types
	// that contain themselves: the columns keep these as Avro data. A row is not compared if
	// different keys of a map become the same key.
	ValidText bool
	// Progress, if set, is called now and then with the number of rows compared. No row of the
	// columns is read during the call.
	Progress func(rows int64)
}

// ErrColumns marks errors of reading the columns.
var ErrColumns = errors.New("reading the columns")

// Compare compares the rows of the inputs, one input after another, with the rows of the columns.
// next returns the next input, and io.EOF after the last one. Compare returns an error of next; an
// error of an input that could not be read, with the name of the input; or an error of the columns,
// which wraps ErrColumns. Differences are not errors.
func Compare(ctx context.Context, rows Rows, next func() (Input, error), o Options) (Result, error) {
	c := &comparer{
		Options: o, rows: rows, nextInput: next, codecs: map[[2]string]*codecs{},
		results: results{Result: Result{NotCompared: []NotCompared{}, First: []Difference{}}, waiting: map[int64]*outcome{}},
	}
	c.changed.L = &c.mu
	defer c.closeInputs()
	var workers sync.WaitGroup
	for range max(o.Workers, 1) {
		workers.Go(func() { c.work(ctx) })
	}
	workers.Wait()
	if c.err != nil {
		return c.Result, c.err
	}
	return c.Result, c.end(ctx)
}

// comparer compares blocks. Workers take blocks one after another, in order, each with its rows of
// the columns. They compare blocks at the same time, and the results are added up in order.
type comparer struct {
	Options
	rows      Rows
	nextInput func() (Input, error)

	taking sync.Mutex            // guards the fields below
	codecs map[[2]string]*codecs // decoders by the writer's and the reader's schema
	in     *reading              // nil before an input
	row    int64                 // number of rows that rows returned
	ended  bool                  // rows has no more rows
	taken  int64                 // number of outcomes that exist or will
	done   bool                  // there are no more blocks

	results
}

// mostWaiting is how many outcomes per worker may wait for an earlier one.
const mostWaiting = 8

// results are what is known of the blocks compared so far.
type results struct {
	mu      sync.Mutex // guards the fields below
	changed sync.Cond  // a block was compared
	Result
	err       error // ends the comparison
	running   int   // blocks that are being compared
	merged    int64 // number of outcomes that are part of Result
	waiting   map[int64]*outcome
	want, got rowSet
	by        string // name of the decoder of the rows in want and got
	mixed     bool   // rows of several decoders are in want and got
}

// reading is an input that is read.
type reading struct {
	Input
	header *header
	codecs *codecs
	head   []byte // header for goavro's container reader; nil if it is not used
	blocks Blocks
	row    int64 // number of rows in the blocks that were taken
	at     int64 // end of the last block

	// These are guarded by results.mu.
	users     int   // blocks that are being compared, and 1 while blocks are taken
	failed    bool  // goavro's container reader failed
	own       bool  // the input is counted in OwnBlocks
	lost      error // why the rows from some row on are not compared; nil if they are
	lostBytes bool  // these rows are bytes that no block counts, and no other rows
	missing   int64 // the first of these rows that the columns lack; -1 if they lack none
}

// work compares blocks until there are no more.
func (c *comparer) work(ctx context.Context) {
	w := &worker{c: c}
	for w.take(ctx) {
		c.finish(w.block.number, w.outcome(ctx))
		w.end()
	}
}

// open starts to read an input.
func (c *comparer) open(in Input) (*reading, error) {
	r := &reading{Input: in, users: 1, missing: -1}
	c.mu.Lock()
	c.Inputs++
	c.mu.Unlock()
	c.in = r
	r.lost = c.prepare(r)
	var err error
	r.blocks, err = in.Blocks()
	return r, err
}

// prepare makes the decoders of an input. Its error says why no row can be compared.
func (c *comparer) prepare(r *reading) (err error) {
	if r.header, err = readHeader(r.Input); err != nil {
		return err
	}
	schema, err := r.header.schema()
	if err != nil {
		return err
	}
	if r.codecs, err = c.codecsOf(schema, r.Schema); err != nil {
		return err
	}
	r.at = r.header.size
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.codecs.renamed {
		c.Renamed++
	}
	if r.codecs.goavro != nil && !r.Lossy {
		if r.head, err = r.header.encode(r.codecs.spelled); err == nil {
			return nil
		}
	}
	c.countOwn(r)
	return nil
}

// nextBlock takes the next block, without its rows of the columns. It returns io.EOF at the end.
func (c *comparer) nextBlock(ctx context.Context, b *block) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.in == nil {
			in, err := c.nextInput()
			if err != nil {
				return err
			}
			if _, err := c.open(in); err != nil {
				return inInput(&in, err)
			}
		}
		in := c.in
		stored, err := in.blocks.Next(ctx, func(bytes int64) error { return c.reserve(b, bytes) })
		ended := errors.Is(err, io.EOF)
		if ended {
			stored.Start, err = in.Size, nil
		}
		//guard: rejects a reader that leaves out bytes, which goavro's container reader would then miss
		if err == nil && in.head != nil && stored.Start != in.at {
			err = fmt.Errorf("%d bytes at offset %d are in no block", stored.Start-in.at, in.at)
		}
		if err != nil {
			return inInput(&in.Input, err)
		}
		if ended {
			c.in = nil
			c.finish(c.number(), &outcome{in: in, last: true})
			c.leave(in)
			continue
		}
		b.Block, b.in, b.row = stored, in, in.row
		in.row += stored.Rows
		in.at = stored.End
		return nil
	}
}

// inInput adds the name of an input to an error.
func inInput(in *Input, err error) error { return fmt.Errorf("comparing with %s: %w", in.Name, err) }

// number returns the number of the next outcome. It waits as long as too many wait for an earlier
// one.
func (c *comparer) number() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.taken-c.merged >= mostWaiting*int64(max(c.Workers, 1)) && c.running > 0 {
		c.changed.Wait()
	}
	c.taken++
	return c.taken - 1
}

// reserve reserves memory up to a number of bytes for a block that is being taken. It waits for
// blocks that are being compared. If there are none, a block of ordinary size needs no account.
func (c *comparer) reserve(b *block, bytes int64) error {
	const ordinary = 1 << 20
	if c.Memory == nil || bytes <= b.held {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		err := c.Memory.Reserve(bytes - b.held)
		switch {
		case err == nil:
			b.held = bytes
			return nil
		case c.running > 0:
			c.changed.Wait()
		case bytes <= ordinary:
			return nil
		default:
			return err
		}
	}
}

// nextRow appends the next row of the columns to dst. At the end, ok is false.
func (c *comparer) nextRow(dst []byte) (_ []byte, ok bool, err error) {
	if c.ended {
		return dst, false, nil
	}
	all, err := c.rows.Next(dst)
	switch {
	case errors.Is(err, io.EOF):
		c.ended = true
		return dst, false, nil
	case err != nil:
		return dst, false, fmt.Errorf("%w: %w", ErrColumns, err)
	}
	c.row++
	return all, true, nil
}

// leave ends a use of an input. The last one closes it.
func (c *comparer) leave(in *reading) {
	c.mu.Lock()
	in.users--
	last := in.users == 0
	c.mu.Unlock()
	if last && in.Close != nil {
		in.Close()
	}
}

// closeInputs closes the input that was being read when the comparison ended.
func (c *comparer) closeInputs() {
	if c.in != nil {
		c.leave(c.in)
	}
}
