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
	// minSplit is the least size of splits that SequenceFileInputFormat makes.
	minSplit = 100 << 10
	// splitSlop is the largest ratio of the size of a file's last split to that of others.
	splitSlop = 1.1
	// maxInputs bounds the text that names the files of a job, in bytes: each map
	// task's JVM and the application master hold all properties of the job.
	maxInputs = 4 << 20
	// carrierText is the content of carriers. It is not empty, so that Java makes a split of it.
	carrierText = "a carrier\n"
)

// layout maps Java's splits to tasks.
type layout struct {
	entries []Entry
	// files are the locations of inputs that the job splits, each once.
	files []string
	// carriers are the names of further inputs, files in the location carrierDir. Each
	// stands for a task that no split of an input can stand for.
	carriers   []string
	carrierDir string
	splitSize  int64
	total      int64 // bytes of all files
}

// claim is an input of a batch's plan that Java splits for the plan.
type claim struct {
	batch, input int
}

// newLayout finds a split for each task: the split that Java makes of its first piece,
// so that the task runs near these bytes, or else a carrier. Java splits all files by
// one size, so newLayout chooses the size of most tasks that are parts of files.
func newLayout(batches []task.Batch, carrierDir string) *layout {
	l := &layout{carrierDir: carrierDir, splitSize: max(commonSplitSize(batches), minSplit)}
	claims := l.claim(batches)
	for i, b := range batches {
		for _, number := range b.Numbers {
			piece := b.Plan.Tasks[number].Pieces[0]
			in := &b.Plan.Request.Inputs[piece.Input]
			split := pipes.Split{Path: in.Path, Start: piece.Start, Length: piece.End - piece.Start}
			if at, ok := claims[barePath(in.Path)]; !ok || at != (claim{i, piece.Input}) {
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

// claim finds and lists the files that Java splits into exactly the splits of tasks.
func (l *layout) claim(batches []task.Batch) map[string]claim {
	claims := make(map[string]claim)
	var order []claim
	for i, b := range batches {
		missing := partlyDone(&b)
		for _, number := range b.Numbers {
			piece := b.Plan.Tasks[number].Pieces[0]
			at := claim{i, piece.Input}
			in := &b.Plan.Request.Inputs[piece.Input]
			if missing[piece.Input] || !l.isSplit(b.Plan, in, piece) {
				continue
			}
			bare := barePath(in.Path)
			other, taken := claims[bare]
			switch {
			case !taken:
				claims[bare] = at
				order = append(order, at)
			//guard: rejects two tasks that begin at one place of a file
			case other != at:
				claims[bare] = claim{-1, -1}
			}
		}
	}
	room := maxInputs
	for _, at := range order {
		in := &batches[at.batch].Plan.Request.Inputs[at.input]
		bare := barePath(in.Path)
		if claims[bare] != at {
			continue
		}
		room -= len(escapeInput(in.Path)) + 1
		//guard: keeps the job's properties small enough for a task's JVM
		if room < 0 {
			delete(claims, bare)
			continue
		}
		l.files = append(l.files, in.Path)
		l.total += in.Size
	}
	return claims
}

// partlyDone returns the inputs that are cut into tasks some of which are not to run:
// Java would make splits for these, too.
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

// isSplit reports whether Java makes a piece one of the splits of its file.
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

// commonSplitSize returns the split size of most parts of files, or the largest split
// size if no file is cut.
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

// maps returns the number of map tasks to request: the least for which the split size
// that Java computes is below splitSize. Java makes a list of that length.
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
