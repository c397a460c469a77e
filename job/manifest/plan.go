package manifest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
)

// Revision is the revision of this program's writers. It is raised when tasks write other
// bytes for the same plan, so that no output mixes the two.
const Revision = 2

// Plan holds everything that a task needs to make its bytes.
type Plan struct {
	Version int    `json:"version"`
	ID      string `json:"id"` // see Sum
	// Revision is the revision of the program's writers: see the constant.
	Revision int `json:"revision"`
	// Nonce makes the plan differ from an earlier plan of the same request; empty if the
	// earlier plan may be resumed.
	Nonce   string  `json:"nonce,omitempty"`
	Request Request `json:"request"`
	// Dest is the location of the destination. Base is the ID of the output that the
	// destination held; empty if there was none.
	Dest string `json:"dest"`
	Base string `json:"base,omitempty"`
	// Replaces are the IDs of all outputs and increments that the destination held, in
	// order. The plan's output may replace only these. It is empty if Increment is set.
	Replaces []string `json:"replaces,omitempty"`
	// Increment is whether the plan's output is an increment next to the output Base, and
	// does not replace it.
	Increment bool    `json:"increment,omitempty"`
	Schema    string  `json:"schema"`     // Avro schema JSON of all rows; empty without inputs
	Columns   int     `json:"columns"`    // number of columns of Schema
	BlockSize int     `json:"block_size"` // column block size, bytes
	SplitSize int64   `json:"split_size"` // target of input bytes per task
	Ratio     float64 `json:"ratio"`      // sampled output bytes per input byte
	Tasks     []Task  `json:"tasks"`
	// LeftOut are the fields of inputs that Schema lacks.
	LeftOut  []LeftOut `json:"left_out,omitempty"`
	Warnings []string  `json:"warnings,omitempty"`
	Made     *Made     `json:"made,omitempty"`
}

// Task is the input of one row group or a few, in order.
type Task struct {
	ID     int     `json:"id"`
	Pieces []Piece `json:"pieces"`
}

// Bytes returns the number of input bytes of a task.
func (t *Task) Bytes() (n int64) {
	for _, p := range t.Pieces {
		n += p.End - p.Start
	}
	return n
}

// Piece is a byte range of an input: the blocks that start in [Start, End).
type Piece struct {
	Input int   `json:"input"` // index in Request.Inputs
	Start int64 `json:"start"`
	End   int64 `json:"end"`
}

// LeftOut is a field that inputs have and the output does not.
type LeftOut struct {
	Field  string `json:"field"`  // path of the field
	Input  string `json:"input"`  // the first input that has it
	Inputs int    `json:"inputs"` // number of inputs that have it
}

// Sum returns the plan's ID: a hash of its content, except for the warnings, Made, and
// the fields of inputs that only tell whether to open them.
func (p *Plan) Sum() (string, error) {
	q := *p
	q.ID, q.Warnings, q.Made = "", nil, nil
	q.Request.Inputs = slices.Clone(q.Request.Inputs)
	for i := range q.Request.Inputs {
		q.Request.Inputs[i] = q.Request.Inputs[i].bare()
	}
	b, err := encodeJSON(q)
	if err != nil {
		return "", err
	}
	h := sha256.Sum256(b)
	return hex.EncodeToString(h[:16]), nil
}

// Encode returns the document's bytes.
func (p *Plan) Encode() ([]byte, error) { return encode(p) }

// DecodePlan reads a plan. It checks that this program knows all fields, that the ID
// is the hash of the rest, and that the tasks cover every input exactly once.
func DecodePlan(b []byte) (*Plan, error) {
	p := new(Plan)
	if err := decodeKnown("plan", b, p); err != nil {
		return nil, err
	}
	//guard: rejects the plan of another revision
	if p.Revision != Revision {
		return nil, fmt.Errorf("plan: %w: it is of revision %d of the writers, and this program has %d; make the plan again", ErrVersion, p.Revision, Revision)
	}
	sum, err := p.Sum()
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	//guard: rejects a plan that was altered
	if sum != p.ID {
		return nil, fmt.Errorf("plan %q: its content has the ID %s", p.ID, sum)
	}
	if err := p.checkTasks(); err != nil {
		return nil, fmt.Errorf("plan %s: %w", p.ID, err)
	}
	return p, nil
}

// checkTasks checks that the tasks cover every input from start to end, once and in
// order.
func (p *Plan) checkTasks() error {
	covered := make([]int64, len(p.Request.Inputs))
	for i, t := range p.Tasks {
		//guard: rejects a task with the number of another
		if t.ID != i {
			return fmt.Errorf("task %d has the number %d", i, t.ID)
		}
		for _, piece := range t.Pieces {
			//guard: rejects a task that reads outside its inputs
			if piece.Input < 0 || piece.Input >= len(covered) || piece.End > p.Request.Inputs[piece.Input].Size {
				return fmt.Errorf("task %d has a piece outside of the inputs", i)
			}
			//guard: rejects tasks that leave rows out or overlap
			if piece.Start != covered[piece.Input] || piece.End < piece.Start {
				return fmt.Errorf("task %d has the bytes %d to %d of input %d, but the tasks before end at byte %d", i, piece.Start, piece.End, piece.Input, covered[piece.Input])
			}
			covered[piece.Input] = piece.End
		}
	}
	for i, in := range p.Request.Inputs {
		//guard: rejects tasks that leave out the end of a file
		if covered[i] != in.Size {
			return fmt.Errorf("the tasks end at byte %d of %d of %s", covered[i], in.Size, in.Path)
		}
	}
	return nil
}
