package manifest

import (
	"fmt"
	"slices"
	"time"

	"github.com/rowtocol/rowtocol/avro/shred"
)

// TaskResult describes what a finished task made. Its files have their staged names:
// see StagedPart, StagedQuarantine, StagedSide and StagedIndex.
type TaskResult struct {
	Version int    `json:"version"`
	Plan    string `json:"plan"` // Plan.ID
	Task    int    `json:"task"`
	Parts   []Part `json:"parts"`
	RowsIn  int64  `json:"rows_in"`
	// Reads describe what the task read for each of its pieces, in order.
	Reads  []Read `json:"reads,omitempty"`
	Losses []Loss `json:"losses,omitempty"`
	// Side are side files: files that were made from the rows while the parts were written.
	// They are not published. The last step makes Index from the side files of all tasks. It
	// has a result of its own, whose Task is the number after the last task of the plan.
	Side  []File `json:"side,omitempty"`
	Index []File `json:"index,omitempty"`
	// Sink names the sink that made Side and Index. A task whose result has another sink, or
	// none, is run again.
	Sink string `json:"sink,omitempty"`
	// Fingerprint is the fingerprint of the parts that Index covers.
	Fingerprint string `json:"fingerprint,omitempty"`
	// InvalidUTF8 counts string values that are not UTF-8 and were copied unchanged.
	InvalidUTF8 int64 `json:"invalid_utf8,omitempty"`
	// Inexact counts the values that could not be kept exactly.
	Inexact shred.Inexact `json:"inexact,omitzero"`
	Made    *Made         `json:"made,omitempty"`
}

// Read describes the bytes of a piece that a task read, and the file when it was opened.
type Read struct {
	CRC32C  uint32    `json:"crc32c"` // CRC-32C of all stored bytes of the piece
	FileID  uint64    `json:"file_id,omitempty"`
	ModTime time.Time `json:"mod_time,omitzero"`
	Recent  bool      `json:"recent,omitempty"`
}

// Input returns an input as it was when the piece was read.
func (r *Read) Input(in Input) Input {
	in.FileID, in.ModTime, in.Recent = r.FileID, r.ModTime, r.Recent
	return in
}

// Part is a row group of the output: one file, or the files of a directory.
type Part struct {
	Task     int    `json:"task"`
	RowGroup int    `json:"row_group"` // number within the task
	Rows     int64  `json:"rows"`
	Files    []File `json:"files"`
}

// Bytes returns the number of bytes of a part's files.
func (p *Part) Bytes() (n int64) {
	for _, f := range p.Files {
		n += f.Bytes
	}
	return n
}

// File is a file that a task made.
type File struct {
	Name   string `json:"name"`           // relative to the directory of the document: see InPart
	Role   string `json:"role,omitempty"` // the file's role in its format
	Bytes  int64  `json:"bytes"`
	CRC32C uint32 `json:"crc32c"` // CRC-32C of all stored bytes
	// StoreChecksum is the storage's own checksum after the task read the file back.
	// It is empty if the storage gave none, and in _SUCCESS.
	StoreChecksum string `json:"store_checksum,omitempty"`
	// Keys are the keys of a file of an index; nil for other files.
	Keys *KeyRange `json:"keys,omitempty"`
}

// KeyRange is the range of the sorted keys of a file of an index.
type KeyRange struct {
	First   []byte `json:"first"`
	Last    []byte `json:"last"`
	Entries int64  `json:"entries"` // one for each row
}

// Loss is a range of an input that is not in the output.
type Loss struct {
	Input      string `json:"input"`
	Start      int64  `json:"start"`
	End        int64  `json:"end"`
	Rows       int64  `json:"rows"` // -1 if the number is unknown
	Reason     string `json:"reason"`
	Quarantine *File  `json:"quarantine,omitempty"` // copy of the range
	// Whole is whether the range is a whole file, whose header could not be read.
	Whole bool `json:"whole,omitempty"`
}

// LostRows returns the number of rows that are known to be lost. known is false if the number
// of a loss is unknown.
func LostRows(losses []Loss) (rows int64, known bool) {
	known = true
	for _, l := range losses {
		rows += max(l.Rows, 0)
		known = known && l.Rows >= 0
	}
	return rows, known
}

// DescribeLosses returns a text about the sum of losses: "2 damaged ranges of the input, with at
// least 3 rows", and after it the first of the files that are lost as a whole.
func DescribeLosses(losses []Loss) string {
	files := slices.DeleteFunc(slices.Clone(losses), func(l Loss) bool { return !l.Whole })
	ranges := slices.DeleteFunc(slices.Clone(losses), func(l Loss) bool { return l.Whole })
	switch {
	case len(files) == 0:
		return describeRanges(ranges)
	case len(ranges) == 0:
		return describeFiles(files)
	}
	return describeRanges(ranges) + ", and " + describeFiles(files)
}

// describeFiles returns a text about files that are lost as a whole.
func describeFiles(losses []Loss) string {
	if len(losses) == 1 {
		return fmt.Sprintf("the whole file %s, with an unknown number of rows", losses[0].Input)
	}
	return fmt.Sprintf("%d whole files, with an unknown number of rows; the first is %s", len(losses), losses[0].Input)
}

// describeRanges returns a text about ranges of files.
func describeRanges(losses []Loss) string {
	rows, known := LostRows(losses)
	ranges, number := "damaged ranges", fmt.Sprintf("%d rows", rows)
	if len(losses) == 1 {
		ranges = "damaged range"
	}
	if rows == 1 {
		number = "1 row"
	}
	switch {
	case !known && rows == 0:
		number = "an unknown number of rows"
	case !known:
		number = "at least " + number
	}
	return fmt.Sprintf("%d %s of the input, with %s", len(losses), ranges, number)
}

// Files returns the files of the result, those of the parts first.
func (r *TaskResult) Files() []File { return files(r.Parts, r.Losses, r.Side, r.Index) }

func files(parts []Part, losses []Loss, others ...[]File) (all []File) {
	for _, p := range parts {
		all = append(all, p.Files...)
	}
	for _, l := range losses {
		if l.Quarantine != nil {
			all = append(all, *l.Quarantine)
		}
	}
	return append(all, slices.Concat(others...)...)
}

// LostRows returns the number of lost rows, at least one for each range.
func (r *TaskResult) LostRows() (n int64) {
	for _, l := range r.Losses {
		n += max(l.Rows, 1)
	}
	return n
}

// Encode returns the document's bytes.
func (r *TaskResult) Encode() ([]byte, error) { return encode(r) }

// DecodeTaskResult reads the result of a task of a plan, and checks the names of its
// files.
func DecodeTaskResult(b []byte, plan string, task int) (*TaskResult, error) {
	r := new(TaskResult)
	if err := decode("task result", b, r); err != nil {
		return nil, err
	}
	//guard: rejects the result of another plan or task
	if r.Plan != plan || r.Task != task {
		return nil, fmt.Errorf("task result: it is of task %d of plan %q, not of task %d of plan %s", r.Task, r.Plan, task, plan)
	}
	for _, p := range r.Parts {
		for _, f := range p.Files {
			//guard: rejects a name that no part of the row group has
			if !isStagedPart(f.Name, task, p.RowGroup) || p.Task != task {
				return nil, fmt.Errorf("task result: %q is not the name of a part of task %d, row group %d", f.Name, task, p.RowGroup)
			}
		}
	}
	for _, l := range r.Losses {
		//guard: rejects a name that no quarantine copy has
		if l.Quarantine != nil && !quarantine.staged(l.Quarantine.Name) {
			return nil, fmt.Errorf("task result: %q is not the name of a copy of damaged bytes", l.Quarantine.Name)
		}
	}
	for _, f := range r.Side {
		//guard: rejects a name that no side file of the task has
		if !isStagedSide(f.Name, task) {
			return nil, fmt.Errorf("task result: %q is not the name of a side file of task %d", f.Name, task)
		}
	}
	//guard: rejects a result with both parts and an index
	if len(r.Index) > 0 && len(r.Parts) > 0 {
		return nil, fmt.Errorf("task result: %q is an index of all tasks, but the result has parts of one task", r.Index[0].Name)
	}
	for _, f := range r.Index {
		//guard: rejects a name that no file of an index has
		if !index.staged(f.Name) {
			return nil, fmt.Errorf("task result: %q is not the name of a file of an index", f.Name)
		}
	}
	var rows int64
	for _, p := range r.Parts {
		rows += p.Rows
	}
	//guard: rejects another number of rows than the parts have
	if rows != r.RowsIn {
		return nil, fmt.Errorf("task result: it says %d rows, but the parts have %d", r.RowsIn, rows)
	}
	if err := checkCounts(r.Parts, r.Entries()); err != nil {
		return nil, fmt.Errorf("task result: %w", err)
	}
	return r, nil
}

// checkCounts refuses impossible numbers, files that are listed twice or outside their
// part, and files that would be published under one name.
func checkCounts(parts []Part, all []Entry) error {
	for _, p := range parts {
		//guard: rejects a negative number of rows or a part without files
		if p.Rows < 0 || len(p.Files) == 0 {
			return fmt.Errorf("row group %d of task %d: %d rows in %d files cannot be", p.RowGroup, p.Task, p.Rows, len(p.Files))
		}
	}
	seen := make(map[string]bool)
	for _, e := range all {
		name := Published(e.Name, "") // without the ID, so that entries with other IDs are equal
		if side := SideName(e.Name); side != "" {
			name = side
		}
		//guard: rejects a part listed twice
		if seen[name] {
			return fmt.Errorf("%q is listed twice", e.Name)
		}
		seen[name] = true
		if err := e.check(); err != nil {
			return err
		}
	}
	return nil
}
