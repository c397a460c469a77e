package witness

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// listed is the most differences that a Result describes. Further ones are only counted.
const listed = 20

// Input is one of the Avro files from which the columns were made.
type Input struct {
	Name string
	R    io.ReaderAt
	Size int64
	// Blocks starts to read the file's blocks with the caller's own container reader.
	// It is used to count rows, and if goavro's container reader fails.
	Blocks func() (Blocks, error)
	// Lossy says that the conversion left out damaged parts of the file. Blocks leaves
	// out the same parts, and goavro's container reader is not used.
	Lossy bool
	// Schema is the schema to which the conversion resolved the rows. It is "" if the
	// rows were not resolved.
	Schema string
}

// Blocks returns decompressed blocks in file order, and io.EOF at the end. The data is
// valid until the next call.
type Blocks interface {
	Next(ctx context.Context) (rows int64, data []byte, err error)
}

// Rows returns the rows of the columns. Next appends the Avro encoding of the next row to
// dst, and returns io.EOF at the end.
type Rows interface {
	Next(dst []byte) ([]byte, error)
}

// NotCompared describes the rows of an input that no decoder could read.
type NotCompared struct {
	Input  string `json:"input"`
	Row    int64  `json:"row"`    // number of the first such row in the input, from 0
	Rows   int64  `json:"rows"`   // number of rows
	Reason string `json:"reason"` // error of the first row
}

// Difference is a row that differs between the input and the columns.
type Difference struct {
	Input string `json:"input,omitempty"`
	Row   int64  `json:"row"` // number of the row in the input, or in the columns if Input is empty
	Path  string `json:"path,omitempty"`
	Want  string `json:"want"`
	Got   string `json:"got"`
}

// String returns one line for people.
func (d Difference) String() string {
	where := fmt.Sprintf("row %d", d.Row)
	if d.Input != "" {
		where = d.Input + ": " + where
	}
	if d.Path != "" {
		where += ", field " + d.Path
	}
	return fmt.Sprintf("%s: the input has %s, the columns have %s", where, d.Want, d.Got)
}

// Result is the result of a comparison. The columns equal the inputs only if Different
// is 0 and NotCompared is empty.
type Result struct {
	Inputs      int           `json:"inputs"`
	Compared    int64         `json:"compared"`          // number of compared rows
	ByGoavro    int64         `json:"by_goavro"`         // number of rows that goavro decoded
	ByHamba     int64         `json:"by_hamba"`          // number of rows that hamba decoded
	OwnBlocks   int           `json:"own_blocks"`        // number of inputs whose container goavro did not read
	Renamed     int           `json:"renamed"`           // number of inputs whose names were changed for goavro
	NotCompared []NotCompared `json:"not_compared"`      // rows that no decoder could read
	Different   int64         `json:"different"`         // number of rows that differ
	First       []Difference  `json:"first_differences"` // the first rows that differ
}

// Skipped returns the number of rows that were not compared.
func (r *Result) Skipped() int64 {
	var n int64
	for _, s := range r.NotCompared {
		n += s.Rows
	}
	return n
}

// Comparer compares the rows of inputs, one after another, with the rows of the
// columns. It is not safe for concurrent use.
type Comparer struct {
	rows   Rows
	row    int64 // number of rows that rows returned
	buf    []byte
	ended  bool
	result Result
	codecs map[[2]string]*codecs // decoders by the writer's and the reader's schema
	// AnyOrder says that the columns have the rows of all inputs in another order. Then
	// the number and the contents of all rows are compared, in bounded memory. The result
	// does not say which rows differ.
	AnyOrder bool
	// ValidText says that the columns may have U+FFFD in place of each run of bytes that are not
	// UTF-8. Then strings of the inputs are compared after the same replacement, except in types
	// that contain themselves: the columns keep these as Avro data. A row is not compared if
	// different keys of a map become the same key. Set ValidText before the first call of Input.
	ValidText bool
	want, got rowSet
	by        string // name of the decoder of the rows in want and got
	mixed     bool   // rows of several decoders are in want and got
	// Progress, if set, is called now and then with the number of rows compared.
	Progress func(rows int64)
}

// New returns a Comparer of the rows of the columns.
func New(rows Rows) *Comparer {
	return &Comparer{
		rows: rows, codecs: map[[2]string]*codecs{},
		result: Result{NotCompared: []NotCompared{}, First: []Difference{}},
	}
}

// Input compares the next rows of the columns with all rows of one input. It returns an
// error if the input could not be read, or, wrapping ErrColumns, the columns. Differences
// are not errors.
func (c *Comparer) Input(ctx context.Context, in Input) error {
	c.result.Inputs++
	h, err := readHeader(in)
	if err != nil {
		return c.skip(ctx, in, 0, err)
	}
	schema, err := h.schema()
	if err != nil {
		return c.skip(ctx, in, 0, err)
	}
	codecs, err := c.codecsOf(schema, in.Schema)
	if err != nil {
		return c.skip(ctx, in, 0, err)
	}
	if codecs.renamed {
		c.result.Renamed++
	}
	var row int64
	if codecs.goavro != nil && !in.Lossy {
		if src, err := newContainer(in, h, codecs.spelled, codecs.goavro); err == nil {
			if err = c.compare(ctx, in, src, &row); err == nil || errors.Is(err, ErrColumns) || ctx.Err() != nil {
				return err
			}
		}
	}
	c.result.OwnBlocks++
	return c.ownBlocks(ctx, in, codecs, row)
}

// ownBlocks compares the rows from row on. It reads the input with the caller's reader of
// blocks.
func (c *Comparer) ownBlocks(ctx context.Context, in Input, codecs *codecs, row int64) error {
	blocks, err := in.Blocks()
	if err != nil {
		return err
	}
	src := &blockRows{blocks: blocks, codecs: codecs}
	for range row {
		if _, _, err := src.next(ctx); err != nil {
			return fmt.Errorf("%s: a second reading differs from the first: %w", in.Name, err)
		}
	}
	err = c.compare(ctx, in, src, &row)
	if errors.Is(err, errLost) {
		return c.skip(ctx, in, row, err)
	}
	return err
}

// ErrColumns marks errors of reading the columns. Reading the input in another way does not
// help then.
var ErrColumns = errors.New("reading the columns")

// compare compares the rows of src with the next rows of the columns, until src ends. It
// counts the rows of src in row.
func (c *Comparer) compare(ctx context.Context, in Input, src source, row *int64) error {
	for {
		if *row%256 == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
			if c.Progress != nil {
				c.Progress(c.result.Compared)
			}
		}
		want, by, err := src.next(ctx)
		if errors.Is(err, io.EOF) {
			return nil
		}
		undecodable := err
		if err != nil && !errors.Is(err, errUndecodable) {
			return err
		}
		datum, err := c.next()
		if err != nil {
			return err
		}
		if undecodable == nil {
			undecodable = c.check(in.Name, *row, want, datum, by)
		} else if datum == nil {
			c.differs(c.noRow(in.Name, *row))
		}
		if undecodable != nil {
			c.notCompared(in.Name, *row, 1, undecodable)
		}
		*row++
	}
}

// next returns the next row of the columns, or nil at the end.
func (c *Comparer) next() ([]byte, error) {
	if c.ended {
		return nil, nil
	}
	datum, err := c.rows.Next(c.buf[:0])
	if errors.Is(err, io.EOF) {
		c.ended = true
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrColumns, err)
	}
	if datum == nil {
		datum = []byte{}
	}
	c.buf = datum
	c.row++
	return datum, nil
}

// check compares a row. It returns an error if the row could not be compared.
func (c *Comparer) check(name string, row int64, want any, datum []byte, by decoder) error {
	d := c.noRow(name, row)
	if datum != nil {
		if c.ValidText {
			valid, distinct := validText(want)
			//guard: does not take keys that become the same for damage
			if !distinct {
				return fmt.Errorf("after the replacement of bytes that are not UTF-8: %w", errDuplicateKey)
			}
			want = valid
		}
		got, rest, err := by.columns(datum)
		if errors.Is(err, errUnable) {
			return fmt.Errorf("the row of the columns: %s: %w", by.name(), err)
		}
		switch {
		case err != nil:
			d.Got = fmt.Sprintf("a row that %s cannot decode: %v", by.name(), err)
		case len(rest) != 0:
			d.Got = fmt.Sprintf("a row and %d bytes more", len(rest))
		case c.AnyOrder:
			c.tally(want, got, by)
			d = Difference{}
		default:
			path, w, g, same := differ("", want, got)
			if d = (Difference{Input: name, Row: row, Path: path, Want: render(w), Got: render(g)}); same {
				d = Difference{}
			}
		}
	}
	c.result.Compared++
	if by.name() == goavroName {
		c.result.ByGoavro++
	} else {
		c.result.ByHamba++
	}
	if d != (Difference{}) {
		c.differs(d)
	}
	return nil
}

// noRow returns the difference for a row that the columns lack.
func (c *Comparer) noRow(name string, row int64) Difference {
	return Difference{Input: name, Row: row, Want: "a row", Got: fmt.Sprintf("no more rows after %d", c.row)}
}

// notCompared counts rows of the input from row on as not compared.
func (c *Comparer) notCompared(name string, row, rows int64, reason error) {
	if i := len(c.result.NotCompared) - 1; i >= 0 && c.result.NotCompared[i].Input == name {
		c.result.NotCompared[i].Rows += rows
	} else if rows > 0 {
		c.result.NotCompared = append(c.result.NotCompared, NotCompared{Input: name, Row: row, Rows: rows, Reason: reason.Error()})
	}
}

func (c *Comparer) differs(d Difference) {
	c.result.Different++
	if len(c.result.First) < listed {
		c.result.First = append(c.result.First, d)
	}
}

// skip passes over the rows of an input from row on, and counts them as not compared. It
// still checks that the columns have as many rows.
func (c *Comparer) skip(ctx context.Context, in Input, row int64, reason error) error {
	blocks, err := in.Blocks()
	if err != nil {
		return err
	}
	var total int64
	for {
		rows, _, err := blocks.Next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		total += rows
	}
	c.notCompared(in.Name, row, total-row, reason)
	for ; row < total; row++ {
		if row%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		datum, err := c.next()
		if err != nil {
			return err
		}
		if datum == nil {
			c.differs(Difference{Input: in.Name, Row: row, Want: fmt.Sprintf("%d rows more", total-row), Got: "none"})
			return nil
		}
	}
	return nil
}

// End checks that the columns have no rows after the rows of the inputs, and returns the
// result.
func (c *Comparer) End(ctx context.Context) (Result, error) {
	first := c.row
	for !c.ended {
		if c.row%256 == 0 && ctx.Err() != nil {
			return c.result, ctx.Err()
		}
		if _, err := c.next(); err != nil {
			return c.result, err
		}
	}
	if extra := c.row - first; extra > 0 {
		c.result.Different += extra - 1
		c.differs(Difference{Row: first, Want: "no row", Got: fmt.Sprintf("%d rows more", extra)})
	}
	if c.AnyOrder {
		c.endTally()
	}
	return c.result, nil
}
