package hadoop

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// The task file tells each map task of a job which task of a plan has its split. It
// consists of lines of text:
//
//	{"version":1,"program":…,"run":…,"memory":…}        the job
//	KEY {"split":…,"plan":0,"task":{…},"inputs":{"7":…}}   each task
//	plan 0 {"plan":{…},"inputs":9,"tasks":5,"dir":…}       each plan
//
// A map task searches for the line of its split by the key, and then for the line of the
// plan. So it keeps only one line in memory, although the file may have 100,000 lines. The line of
// the plan lacks tasks and inputs. The line of the task has the task and its inputs.

// TasksName is the name of the task file in the working directory of a map task.
const TasksName = "rowtocol-tasks"

const (
	tasksVersion = 1
	keyLength    = 32 // hexadecimal digits
	// maxTaskLine bounds a line. Tasks of many small inputs, and plans with a large
	// schema, have long lines.
	maxTaskLine = 64 << 20
	// maxNumbers bounds the tasks and the inputs of a plan.
	maxNumbers = 1 << 22
)

// Job holds the settings that all tasks of a job share. No setting affects the bytes of files.
type Job struct {
	Version     int           `json:"version"` // version of the task file
	Program     string        `json:"program"` // version of the program
	Run         string        `json:"run"`     // ID of the run of the program that starts the job
	Memory      int64         `json:"memory"`  // bytes
	Workers     int           `json:"workers"`
	StoreRetry  time.Duration `json:"store_retry"`           // nanoseconds; see store.Patience
	Replication int           `json:"replication,omitempty"` // replicas of files that a task makes; 0 is the cluster's default
}

// Entry maps a split of the job to a task.
type Entry struct {
	// Split is a split of a file, as Java's input format makes it. No two entries have
	// the same split: see splitKey.
	Split pipes.Split
	Batch int // index in the batches of the job
	Task  int // number in the plan
}

// Assignment is the task of a split.
type Assignment struct {
	Job
	// Plan has a place for each of its tasks and inputs, but all are empty except this
	// task and its inputs. If no task has the split, Plan lacks tasks and inputs.
	Plan *manifest.Plan
	Dir  string // directory of the task's results, in the store of the destination
	Task int    // number in the plan; -1 if no task has the split
}

// The lines of the file, as JSON.
type (
	planLine struct {
		Plan   *manifest.Plan `json:"plan"`
		Inputs int            `json:"inputs"`
		Tasks  int            `json:"tasks"`
		Dir    string         `json:"dir"`
	}
	taskLine struct {
		Split  pipes.Split            `json:"split"`
		Plan   int                    `json:"plan"`
		Task   manifest.Task          `json:"task"`
		Inputs map[int]manifest.Input `json:"inputs"`
	}
)

// planPrefix returns the prefix of a plan's line. No key begins with it.
func planPrefix(number int) string { return fmt.Sprintf("plan %d ", number) }

// barePath returns a path without scheme and authority. The names that Java gives have both, and
// may spell the file system differently from plans.
func barePath(p string) string {
	if scheme, rest := store.Scheme(p); scheme != "" {
		_, p, _ = strings.Cut(rest, "/")
		return "/" + p
	}
	return p
}

// bareSplit returns a split with a bare path.
func bareSplit(s pipes.Split) pipes.Split {
	s.Path = barePath(s.Path)
	return s
}

// splitKey returns the key of a split's line. Splits with equal keys are equal, apart
// from the scheme and authority of their paths.
func splitKey(s pipes.Split) string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s\x00%d\x00%d", barePath(s.Path), s.Start, s.Length))
	return hex.EncodeToString(h[:keyLength/2])
}

// WriteTasks writes the task file of a job for batches. It sets the job's version.
func WriteTasks(w io.Writer, job Job, batches []task.Batch, entries []Entry) error {
	b := bufio.NewWriterSize(w, 64<<10)
	job.Version = tasksVersion
	if err := writeLine(b, "", job); err != nil {
		return err
	}
	seen := make(map[string]bool, len(entries))
	for _, entry := range entries {
		key := splitKey(entry.Split)
		//guard: rejects two lines for one split
		if seen[key] {
			return fmt.Errorf("two tasks of the job have the bytes %d to %d of %s", entry.Split.Start, entry.Split.Start+entry.Split.Length, entry.Split.Path)
		}
		seen[key] = true
		if err := writeLine(b, key+" ", entry.taskLine(batches[entry.Batch].Plan)); err != nil {
			return err
		}
	}
	for i := range batches {
		if err := writeLine(b, planPrefix(i), newPlanLine(&batches[i])); err != nil {
			return err
		}
	}
	return b.Flush()
}

// writeLine writes a prefix and a document as a line.
func writeLine(w io.Writer, prefix string, v any) error {
	line := bytes.NewBufferString(prefix)
	e := json.NewEncoder(line)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	//guard: bounds the length of a line
	if line.Len() > maxTaskLine {
		return failure.New(failure.Usage, "the schema, or the list of the files of a task, takes %d bytes; tasks on a cluster can get at most %d", line.Len(), maxTaskLine)
	}
	_, err := w.Write(line.Bytes())
	return err
}

func (e *Entry) taskLine(p *manifest.Plan) *taskLine {
	l := &taskLine{Split: bareSplit(e.Split), Plan: e.Batch, Task: p.Tasks[e.Task], Inputs: make(map[int]manifest.Input)}
	for _, piece := range l.Task.Pieces {
		l.Inputs[piece.Input] = p.Request.Inputs[piece.Input]
	}
	return l
}

func newPlanLine(b *task.Batch) *planLine {
	bare := *b.Plan
	bare.Tasks, bare.Request.Inputs, bare.Warnings = nil, nil, nil
	return &planLine{Plan: &bare, Inputs: len(b.Plan.Request.Inputs), Tasks: len(b.Plan.Tasks), Dir: b.Dir}
}

// FindTask finds the task of a split. If no task has the split, the file of the split has
// changed since the plan was made. The error is then failure.Input, and FindTask also returns
// an assignment of the first plan, without tasks and inputs.
func FindTask(r io.Reader, s pipes.Split) (*Assignment, error) {
	f := &taskReader{bufio.NewReaderSize(r, 64<<10)}
	a, err := f.find(s)
	if err != nil && !failure.HasKind(err) {
		err = fmt.Errorf("the file of the job's tasks: %w", err)
	}
	return a, err
}

// taskReader reads a task file from its start to its end.
type taskReader struct{ *bufio.Reader }

func (r *taskReader) find(s pipes.Split) (*Assignment, error) {
	a := &Assignment{Task: -1}
	_, line, err := r.seek("")
	if err == nil {
		err = decodeLine(line, &a.Job)
	}
	if err != nil {
		return nil, fmt.Errorf("the job: %w", err)
	}
	//guard: rejects a file of another version
	if a.Version != tasksVersion {
		return nil, fmt.Errorf("its version is %d, and this program knows %d", a.Version, tasksVersion)
	}
	index, line, err := r.seek(splitKey(s)+" ", planPrefix(0))
	var assigned taskLine
	if err == nil && index == 0 {
		if err = decodeLine(line, &assigned); err == nil {
			_, line, err = r.seek(planPrefix(assigned.Plan))
		}
	}
	var plan planLine
	if err == nil {
		err = decodeLine(line, &plan)
	}
	if err == nil {
		err = plan.check()
	}
	if err != nil {
		return nil, err
	}
	a.Plan, a.Dir = plan.Plan, plan.Dir
	if index != 0 {
		return a, failure.New(failure.Input, "no task has the %d bytes from byte %d of %s: the file changed since the plan was made", s.Length, s.Start, s.Path)
	}
	a.Task = assigned.Task.ID
	return a, assigned.fill(&plan, s)
}

// seek finds the next line that begins with one of the prefixes, which must be shorter
// than the buffer. It returns the index of the prefix and the rest of the line.
func (r *taskReader) seek(prefixes ...string) (index int, line []byte, err error) {
	for {
		part, err := r.ReadSlice('\n')
		for index, prefix := range prefixes {
			if bytes.HasPrefix(part, []byte(prefix)) {
				line, err := r.rest(bytes.Clone(part[len(prefix):]), err)
				return index, line, err
			}
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = r.ReadSlice('\n')
		}
		if errors.Is(err, io.EOF) {
			return 0, nil, fmt.Errorf("no line begins with %q", prefixes)
		}
		if err != nil {
			return 0, nil, err
		}
	}
}

// rest reads the rest of a line, after a read that returned line and err.
func (r *taskReader) rest(line []byte, err error) ([]byte, error) {
	for errors.Is(err, bufio.ErrBufferFull) {
		var part []byte
		part, err = r.ReadSlice('\n')
		//guard: bounds the length of a line
		if len(line)+len(part) > maxTaskLine {
			return nil, fmt.Errorf("a line is longer than %d bytes", maxTaskLine)
		}
		line = append(line, part...)
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF // the last line lacks its newline
	}
	return line, err
}

// decodeLine decodes a line into v.
func decodeLine(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	//guard: rejects unknown fields
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// check checks the line of a plan.
func (p *planLine) check() error {
	//guard: rejects a line without a plan
	if p.Plan == nil {
		return errors.New("the line of a plan has no plan")
	}
	//guard: rejects a plan of another version
	if p.Plan.Version != manifest.Version {
		return fmt.Errorf("plan %s has version %d, and this program knows %d", p.Plan.ID, p.Plan.Version, manifest.Version)
	}
	//guard: bounds the numbers before memory is allocated for them
	if p.Inputs < 0 || p.Tasks > maxNumbers || p.Inputs > maxNumbers {
		return fmt.Errorf("plan %s has %d tasks and %d inputs", p.Plan.ID, p.Tasks, p.Inputs)
	}
	return nil
}

// fill puts the task of a split and its inputs into the plan.
func (l *taskLine) fill(p *planLine, s pipes.Split) error {
	//guard: rejects the task of another split
	if l.Split != bareSplit(s) {
		return fmt.Errorf("the line of a split of %s has a split of %s", s.Path, l.Split.Path)
	}
	//guard: rejects a task that the plan does not have
	if l.Task.ID < 0 || l.Task.ID >= p.Tasks {
		return fmt.Errorf("plan %s has no task %d", p.Plan.ID, l.Task.ID)
	}
	inputs := make([]manifest.Input, p.Inputs)
	for i, piece := range l.Task.Pieces {
		in, ok := l.Inputs[piece.Input]
		//guard: rejects a task that reads outside its inputs
		if !ok || piece.Input < 0 || piece.Input >= p.Inputs || piece.Start < 0 || piece.End < piece.Start || piece.End > in.Size {
			return fmt.Errorf("task %d of plan %s: piece %d is not in an input", l.Task.ID, p.Plan.ID, i)
		}
		inputs[piece.Input] = in
	}
	p.Plan.Tasks = make([]manifest.Task, p.Tasks)
	p.Plan.Tasks[l.Task.ID], p.Plan.Request.Inputs = l.Task, inputs
	return nil
}
