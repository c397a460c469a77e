package plan

import "github.com/rowtocol/rowtocol/job/manifest"

const (
	minSplit = 4 << 10
	maxSplit = 1 << 50
)

// splitSize returns the size of pieces. It is the largest size of at most room bytes with
// which at most 1/maxOver of the tasks have more than room bytes, but at least 10/11 of
// room. A task can have more than room bytes because the last piece of an input may be
// larger than the other pieces.
func splitSize(inputs []manifest.Input, room int64) int64 {
	least := max(room*10/11, minSplit)
	for size := room; size > least; size -= max(room/100, 1) {
		tasks, over := cut(inputs, size), 0
		for i := range tasks {
			if tasks[i].Bytes() > room {
				over++
			}
		}
		if over*maxOver <= len(tasks) {
			return size
		}
	}
	return least
}

// maxOver is the number of tasks for each task that may have more than room bytes.
const maxOver = 100

// cut divides inputs into tasks. An input of more than size bytes is cut at multiples of
// size, and its last piece is up to 1.1 times as large, exactly as Hadoop cuts files. Each
// piece is a task. Smaller inputs, and those that are lost as a whole, are grouped whole, in
// order. No task has both a piece and whole inputs, and no task has empty inputs.
func cut(inputs []manifest.Input, size int64) []manifest.Task {
	var tasks []manifest.Task
	add := func(pieces ...manifest.Piece) {
		tasks = append(tasks, manifest.Task{ID: len(tasks), Pieces: pieces})
	}
	var group []manifest.Piece
	var sum int64
	flush := func() {
		if len(group) > 0 {
			add(group...)
			group, sum = nil, 0
		}
	}
	for i, in := range inputs {
		if in.Size == 0 {
			continue // an empty file is lost, so no task opens it
		}
		if in.Size <= size || in.Unreadable != "" {
			if sum+in.Size > size {
				flush()
			}
			group = append(group, manifest.Piece{Input: i, End: in.Size})
			sum += in.Size
			continue
		}
		flush()
		start := int64(0)
		for float64(in.Size-start)/float64(size) > 1.1 {
			add(manifest.Piece{Input: i, Start: start, End: start + size})
			start += size
		}
		add(manifest.Piece{Input: i, Start: start, End: in.Size})
	}
	flush()
	return tasks
}
