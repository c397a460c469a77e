package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the version of the documents that this package writes, and the
// newest that it reads.
const Version = 1

// MaxSize bounds a document that is worth reading: what callers pass to a
// store as the most bytes of a file to load.
const MaxSize = 1 << 30

// ErrVersion is the error for a document of a version that this program does
// not know.
var ErrVersion = errors.New("unknown version of the document")

// KeyValue is a piece of user metadata.
type KeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Options are all the options that shape output bytes or decide which rows
// are in them. They travel in the plan, so that a task behaves the same on
// every machine.
type Options struct {
	Format        string            `json:"format"`                  // format name, "trevni"
	RowGroupSize  int64             `json:"row_group_size"`          // ceiling of an output file, bytes
	BlockSize     int               `json:"block_size"`              // column block size, bytes; 0 in a request lets the plan choose
	Codec         string            `json:"codec"`                   // codec of all columns without their own
	ColumnCodecs  map[string]string `json:"column_codecs,omitempty"` // by column name
	Checksum      string            `json:"checksum"`
	Meta          []KeyValue        `json:"meta,omitempty"`   // file metadata, in order
	Values        []string          `json:"values,omitempty"` // columns with a values index
	OnDamage      string            `json:"on_damage"`        // fail, skip or quarantine
	MaxInputBlock int64             `json:"max_input_block"`  // cap of a decompressed input block, bytes
	// MaxLostRows stops a job that lost more rows than this; negative is no
	// limit.
	MaxLostRows    int64 `json:"max_lost_rows"`
	RecursiveBytes bool  `json:"recursive_bytes,omitempty"` // keep a recursive part as one bytes column
	Strict         bool  `json:"strict,omitempty"`          // odd schemas are errors, not warnings
	// ReaderSchema says that the schema was given, and that the rows of every
	// input are resolved to it from the schema that they were written with.
	ReaderSchema bool `json:"reader_schema,omitempty"`
}

// Input is an input file as the plan saw it.
type Input struct {
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	Identity   uint32 `json:"identity"`    // CRC-32C of the header and of the last 64 KiB
	HeaderSize int64  `json:"header_size"` // offset of the first block
}

// Piece is a byte range of an input: the blocks that start in [Start, End).
type Piece struct {
	Input int   `json:"input"` // index in Plan.Inputs
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// Task is the input of one row group, in order.
type Task struct {
	ID     int     `json:"id"`
	Pieces []Piece `json:"pieces"`
}

// Plan says everything that a task needs to make its bytes.
type Plan struct {
	Version   int      `json:"version"`
	ID        string   `json:"id"` // see Sum
	Options   Options  `json:"options"`
	Schema    string   `json:"schema"`     // Avro schema JSON of all rows; empty without inputs
	Columns   int      `json:"columns"`    // number of columns of Schema
	SplitSize int64    `json:"split_size"` // S: input bytes aimed at per task
	Ratio     float64  `json:"ratio"`      // sampled output bytes per input byte
	Inputs    []Input  `json:"inputs"`
	Tasks     []Task   `json:"tasks"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Part is an output file.
type Part struct {
	Name     string `json:"name"` // relative to the destination
	Task     int    `json:"task"`
	RowGroup int    `json:"row_group"` // number within the task
	Rows     int64  `json:"rows"`
	Bytes    int64  `json:"bytes"`
	CRC32C   uint32 `json:"crc32c"` // of all stored bytes
}

// Loss is a range of an input that is not in the output.
type Loss struct {
	Input      string `json:"input"`
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
	Rows       int64  `json:"rows"` // -1: unknown
	Reason     string `json:"reason"`
	Quarantine string `json:"quarantine,omitempty"` // copy of the range, relative to the destination
}

// TaskResult is what a finished task made.
type TaskResult struct {
	Version int    `json:"version"`
	Plan    string `json:"plan"` // Plan.ID
	Task    int    `json:"task"`
	Parts   []Part `json:"parts"`
	RowsIn  int64  `json:"rows_in"`
	Losses  []Loss `json:"losses,omitempty"`
	// InvalidUTF8 counts string values that are not UTF-8 and were copied as
	// they are.
	InvalidUTF8 int64 `json:"invalid_utf8,omitempty"`
}

// Success is the _SUCCESS document of a committed output.
type Success struct {
	Version int     `json:"version"`
	Plan    string  `json:"plan"` // Plan.ID
	Format  string  `json:"format"`
	Schema  string  `json:"schema"`
	Options Options `json:"options"`
	Inputs  []Input `json:"inputs"`
	Parts   []Part  `json:"parts"` // in row order
	Rows    int64   `json:"rows"`
	Bytes   int64   `json:"bytes"`
	Losses  []Loss  `json:"losses,omitempty"`
	// InvalidUTF8 is the sum of the tasks'.
	InvalidUTF8 int64 `json:"invalid_utf8,omitempty"`
}

// Sum returns the plan's ID: a hash of all in it that shapes the output, which
// is everything else but the warnings.
func (p *Plan) Sum() (string, error) {
	q := *p
	q.ID, q.Warnings = "", nil
	b, err := q.Encode()
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16]), nil
}

// Encode returns the document's bytes.
func (p *Plan) Encode() ([]byte, error) { return encode(p) }

// Encode returns the document's bytes.
func (r *TaskResult) Encode() ([]byte, error) { return encode(r) }

// Encode returns the document's bytes.
func (s *Success) Encode() ([]byte, error) { return encode(s) }

// DecodePlan reads a plan, and checks that its ID is the hash of the rest and
// that every piece lies in an input.
func DecodePlan(b []byte) (*Plan, error) {
	p := new(Plan)
	if err := decode("plan", b, p); err != nil {
		return nil, err
	}
	sum, err := p.Sum()
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	//guard: a plan that was altered would be carried out
	if sum != p.ID {
		return nil, fmt.Errorf("plan %q: its content has the ID %s", p.ID, sum)
	}
	for i, t := range p.Tasks {
		//guard: a task's result could be taken for another's
		if t.ID != i {
			return nil, fmt.Errorf("plan %s: task %d has the number %d", p.ID, i, t.ID)
		}
		for _, piece := range t.Pieces {
			//guard: a task could read outside of its inputs
			if piece.Input < 0 || piece.Input >= len(p.Inputs) ||
				piece.Start < 0 || piece.End < piece.Start || piece.End > p.Inputs[piece.Input].Size {
				return nil, fmt.Errorf("plan %s: task %d has a piece outside of the inputs", p.ID, i)
			}
		}
	}
	return p, nil
}

// DecodeTaskResult reads a task's result.
func DecodeTaskResult(b []byte) (*TaskResult, error) {
	r := new(TaskResult)
	if err := decode("task result", b, r); err != nil {
		return nil, err
	}
	return r, nil
}

// DecodeSuccess reads a _SUCCESS document.
func DecodeSuccess(b []byte) (*Success, error) {
	s := new(Success)
	if err := decode("_SUCCESS", b, s); err != nil {
		return nil, err
	}
	return s, nil
}

// encode writes indented JSON, readable by people, with a newline at its end.
// Struct fields keep their order and map keys are sorted, so equal documents
// have equal bytes.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode looks at the version first: a newer document may well not fit the
// types of this one, and "too new" is what its reader has to know.
func decode(what string, b []byte, v any) error {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	//guard: a document of a newer program would be misread
	if head.Version < 1 || head.Version > Version {
		return fmt.Errorf("%s: %w: it has %d, this program knows up to %d", what, ErrVersion, head.Version, Version)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	//guard: what this program does not know would be dropped in silence
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
