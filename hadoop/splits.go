package hadoop

import (
	"fmt"
	"math"
	"strings"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

const (
	// minSplit is the smallest split size that SequenceFileInputFormat uses. Only small files
	// and the ends of files give smaller splits.
	minSplit = 100 << 10
	// splitSlop is the largest ratio of a file's last split to the split size.
	splitSlop = 1.1
	// maxInputs bounds the text that names the files of a job, in bytes, because each map
	// task's JVM and the application master hold all properties of the job.
	maxInputs = 4 << 20
	// carrierText is the content of carriers. It is not empty, so that Java makes a split of it.
	carrierText = "a carrier\n"
)

// layout maps Java's splits to tasks.
type layout struct {
	entries []Entry
	// files are the locations of the inputs that the job splits, each once.
	files []string
	// carriers are the names of small files in the directory carrierDir. The job reads each
	// in place of a task for which Java makes no fitting split of an input.
	carriers   []string
	carrierDir string
	splitSize  int64
	total      int64 // bytes of all files
}

// planInput is an input of a plan: the index of the plan's batch and the number of the input.
type planInput struct {
	batch, input int
}

// newLayout finds a split for each task. If Java makes a split of the task's first piece, the
// task gets this split, so that it runs near these bytes. Otherwise the task gets a carrier.
// Java uses one split size for all files, so newLayout uses the size that most tasks of cut
// files have. A task has either one piece of a cut file or whole files only.
func newLayout(batches []task.Batch, carrierDir string) *layout {
	l := &layout{carrierDir: carrierDir, splitSize: max(commonSplitSize(batches), minSplit)}
	users := l.chooseFiles(batches)
	for i, b := range batches {
		for _, number := range b.Numbers {
			piece := b.Plan.Tasks[number].Pieces[0]
			in := &b.Plan.Request.Inputs[piece.Input]
			split := pipes.Split{Path: in.Path, Start: piece.Start, Length: piece.End - piece.Start}
			if user, ok := users[barePath(in.Path)]; !ok || user != (planInput{i, piece.Input}) {
				name := fmt.Sprintf("%d-%05d", i, number)
				l.carriers = append(l.carriers, name)
				l.total += int64(len(carrierText))
				split = pipes.Split{Path: carrierDir + "/" + name, Length: int64(len(carrierText))}
			}
			l.entries = append(l.entries, Entry{Split: split, Batch: i, Task: number})
		}
	}
	return l
}

// chooseFiles adds a file to l.files if Java makes one split of the file per task and no other
// split. It returns, by bare path, the input whose tasks may use the splits of the file. A path
// that no input may use is missing or has negative numbers.
func (l *layout) chooseFiles(batches []task.Batch) map[string]planInput {
	users := make(map[string]planInput)
	var order []planInput
	for i, b := range batches {
		missing := partlyDone(&b)
		for _, number := range b.Numbers {
			piece := b.Plan.Tasks[number].Pieces[0]
			user := planInput{i, piece.Input}
			in := &b.Plan.Request.Inputs[piece.Input]
			if missing[piece.Input] || !l.isSplit(b.Plan, in, piece) {
				continue
			}
			bare := barePath(in.Path)
			other, taken := users[bare]
			switch {
			case !taken:
				users[bare] = user
				order = append(order, user)
			//guard: rejects a bare path that two inputs have
			case other != user:
				users[bare] = planInput{-1, -1}
			}
		}
	}
	room := maxInputs
	for _, user := range order {
		in := &batches[user.batch].Plan.Request.Inputs[user.input]
		bare := barePath(in.Path)
		if users[bare] != user {
			continue
		}
		room -= len(escapeInput(in.Path)) + 1
		//guard: leaves out files whose names do not fit the job's properties
		if room < 0 {
			delete(users, bare)
			continue
		}
		l.files = append(l.files, in.Path)
		l.total += in.Size
	}
	return users
}

// partlyDone returns the cut inputs that have a task which is not to run. Java would make a
// split for that task as well.
func partlyDone(b *task.Batch) map[int]bool {
	toRun := make(map[int]bool, len(b.Numbers))
	for _, number := range b.Numbers {
		toRun[number] = true
	}
	inputs := make(map[int]bool)
	for i := range b.Plan.Tasks {
		if piece := b.Plan.Tasks[i].Pieces[0]; !toRun[i] && !isWhole(&b.Plan.Request.Inputs[piece.Input], piece) {
			inputs[piece.Input] = true
		}
	}
	return inputs
}

// isWhole reports whether a piece is all of its input.
func isWhole(in *manifest.Input, piece manifest.Piece) bool {
	return piece.Start == 0 && piece.End == in.Size
}

// isSplit reports whether Java makes a split that is exactly this piece.
func (l *layout) isSplit(p *manifest.Plan, in *manifest.Input, piece manifest.Piece) bool {
	name := in.Path[strings.LastIndexByte(in.Path, '/')+1:]
	//guard: rejects names that Java's input format skips
	if store.Hidden(name) {
		return false
	}
	//guard: rejects a path that XML cannot hold
	if !fitsXML(in.Path) {
		return false
	}
	if isWhole(in, piece) {
		return float64(in.Size)/float64(l.splitSize) <= splitSlop
	}
	return p.SplitSize == l.splitSize
}

// commonSplitSize returns the split size that most pieces of cut files have, and the larger of
// two that are equally common. If no file is cut, it returns the largest split size of a plan.
func commonSplitSize(batches []task.Batch) (size int64) {
	counts := make(map[int64]int)
	for _, b := range batches {
		size = max(size, b.Plan.SplitSize)
		for _, number := range b.Numbers {
			piece := b.Plan.Tasks[number].Pieces[0]
			if !isWhole(&b.Plan.Request.Inputs[piece.Input], piece) {
				counts[b.Plan.SplitSize]++
			}
		}
	}
	most := 0
	for s, n := range counts {
		if n > most || n == most && s > size {
			size, most = s, n
		}
	}
	return size
}

// maps returns the number of map tasks to request. Java divides the total size by this number
// and uses the quotient if it is larger than splitSize, so maps returns the smallest number with
// a smaller quotient. Java makes a list of that length, so the number is at most the length of
// the largest array of Java.
func (l *layout) maps() int { return int(min(l.total/l.splitSize+1, math.MaxInt32-8)) }

// inputs returns the property that names the job's files.
func (l *layout) inputs() string {
	var b strings.Builder
	for _, file := range l.files {
		b.WriteString(escapeInput(file))
		b.WriteByte(',')
	}
	if len(l.carriers) > 0 {
		b.WriteString(escapeInput(l.carrierDir))
		b.WriteByte(',')
	}
	return strings.TrimSuffix(b.String(), ",")
}

var (
	globEscaper = strings.NewReplacer(`{`, `\{`, `}`, `\}`, `[`, `\[`, `]`, `\]`, `*`, `\*`, `?`, `\?`, `\`, `\\`, `^`, `\^`)
	listEscaper = strings.NewReplacer(`\`, `\\`, `,`, `\,`)
)

// escapeInput escapes a location for the list of a job's inputs, which are patterns.
func escapeInput(location string) string { return listEscaper.Replace(globEscaper.Replace(location)) }
