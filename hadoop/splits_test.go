package hadoop

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

// newBatch returns a batch of files, cut as package plan cuts them.
func newBatch(id string, size int64, files ...manifest.Input) task.Batch {
	p := &manifest.Plan{ID: id, Dest: "hdfs://nn/" + id, SplitSize: size, Request: manifest.Request{Inputs: files}}
	var group []manifest.Piece
	var sum int64
	flush := func() {
		if len(group) > 0 {
			p.Tasks = append(p.Tasks, manifest.Task{ID: len(p.Tasks), Pieces: group})
		}
		group, sum = nil, 0
	}
	for i, in := range files {
		if in.Size == 0 {
			continue
		}
		if in.Size <= size {
			if sum+in.Size > size {
				flush()
			}
			group, sum = append(group, manifest.Piece{Input: i, End: in.Size}), sum+in.Size
			continue
		}
		flush()
		for _, s := range javaSplits(in.Path, in.Size, size) {
			p.Tasks = append(p.Tasks, manifest.Task{ID: len(p.Tasks), Pieces: []manifest.Piece{{Input: i, Start: s.Start, End: s.Start + s.Length}}})
		}
	}
	flush()
	b := task.Batch{Plan: p, Dir: "/" + id + "/.rowtocol/plan-" + id}
	for n := range p.Tasks {
		b.Numbers = append(b.Numbers, n)
	}
	return b
}

// javaSplits returns the splits that FileInputFormat makes of a file.
func javaSplits(path string, length, size int64) (splits []pipes.Split) {
	rest := length
	for ; float64(rest)/float64(size) > 1.1; rest -= size {
		splits = append(splits, pipes.Split{Path: path, Start: length - rest, Length: size})
	}
	if rest != 0 {
		splits = append(splits, pipes.Split{Path: path, Start: length - rest, Length: rest})
	}
	return splits
}

// jobSplits returns the keys of a job's splits, as SequenceFileInputFormat computes them.
func jobSplits(l *layout, sizes map[string]int64, block int64) (splits []string) {
	var total int64
	for _, file := range l.files {
		total += sizes[file]
	}
	total += int64(len(l.carriers) * len(carrierText))
	goal := total / int64(max(l.maps(), 1))
	size := max(max(l.splitSize, 100<<10), min(goal, block))
	add := func(path string, length int64) {
		for _, s := range javaSplits(path, length, size) {
			splits = append(splits, splitKey(s))
		}
	}
	for _, file := range l.files {
		if !store.Hidden(file[strings.LastIndexByte(file, '/')+1:]) {
			add(file, sizes[file])
		}
	}
	for _, name := range l.carriers {
		add(l.carrierDir+"/"+name, int64(len(carrierText)))
	}
	return splits
}

// checkLayout checks that a layout maps the splits of its job to tasks one to one. It
// returns the number of carriers.
func checkLayout(t *testing.T, name string, batches []task.Batch) int {
	t.Helper()
	l := newLayout(batches, "hdfs://nn/user/u/.rowtocol/job-1/carriers")
	sizes := make(map[string]int64)
	want := 0
	for _, b := range batches {
		want += len(b.Numbers)
		for _, in := range b.Plan.Request.Inputs {
			sizes[in.Path] = in.Size
		}
	}
	if len(l.entries) != want {
		t.Errorf("%s: %d of %d tasks have splits", name, len(l.entries), want)
	}
	var keys []string
	for _, e := range l.entries {
		keys = append(keys, splitKey(e.Split))
	}
	slices.Sort(keys)
	if n := len(keys); len(slices.Compact(keys)) != n {
		t.Errorf("%s: tasks share splits", name)
	}
	for _, block := range []int64{1 << 20, 128 << 20, 1 << 40} {
		got := jobSplits(l, sizes, block)
		slices.Sort(got)
		if !slices.Equal(got, keys) {
			t.Errorf("%s: with blocks of %d bytes, %d splits differ from those of %d tasks", name, block, len(got), len(keys))
		}
	}
	return len(l.carriers)
}

func TestLayout(t *testing.T) {
	const s = 1 << 20
	file := func(name string, size int64) manifest.Input {
		return manifest.Input{Path: "hdfs://nn/in/" + name, Size: size}
	}
	withNumbers := func(b task.Batch, numbers ...int) task.Batch {
		b.Numbers = numbers
		return b
	}
	long := strings.Repeat("n", 2000)
	var many []manifest.Input
	for i := range maxInputs/2000 + 100 {
		many = append(many, file(fmt.Sprintf("%s%d", long, i), s))
	}
	for name, tt := range map[string]struct {
		batches  []task.Batch
		carriers int
	}{
		"large and small":       {[]task.Batch{newBatch("a", s, file("a.avro.gz", 5*s+7), file("b", 10), file("c", s-5), file("d", s+1), file("e", 0))}, 0},
		"skipped names":         {[]task.Batch{newBatch("a", s, file("_a", 2*s), file(".b", s), file("_dir/c", s))}, 3},
		"names XML cannot hold": {[]task.Batch{newBatch("a", s, file("a\x01", 2*s), file("b\xff", s), file("c\uFFFE", s), file("d\te", s))}, 4},
		"a small size":          {[]task.Batch{newBatch("a", 5000, file("a", 20_000), file("b", 4000), file("c", 4000))}, 4},
		"one path on two clusters": {[]task.Batch{newBatch("a", s, file("a", 3*s), file("b", s),
			manifest.Input{Path: "hdfs://other/in/a", Size: 2 * s}, manifest.Input{Path: "webhdfs://nn:9870/in/b", Size: s})}, 7},
		"one input of two plans":                  {[]task.Batch{newBatch("a", s, file("a", 3*s)), newBatch("b", s, file("a", 3*s))}, 6},
		"plans of two sizes":                      {[]task.Batch{newBatch("a", s, file("a", 3*s), file("b", 10)), newBatch("b", 2*s, file("c", 4*s), file("d", 10))}, 2},
		"a file as large as another plan's parts": {[]task.Batch{newBatch("a", s, file("a", 5*s)), newBatch("b", 4*s, file("c", 4*s))}, 1},
		"parts that are done":                     {[]task.Batch{withNumbers(newBatch("a", s, file("a", 3*s), file("b", 2*s), file("c", 10)), 0, 2, 3, 4, 5)}, 2},
		"small files done":                        {[]task.Batch{withNumbers(newBatch("a", s, file("a", s), file("b", s)), 1)}, 0},
		"very many files":                         {[]task.Batch{newBatch("a", s, many...)}, -1},
	} {
		n := checkLayout(t, name, tt.batches)
		if n != tt.carriers && (tt.carriers >= 0 || n == 0) {
			t.Errorf("%s: got %d carriers, want %d", name, n, tt.carriers)
		}
	}
	l := newLayout([]task.Batch{newBatch("a", s, many...)}, "hdfs://nn/c")
	if n := len(l.inputs()); n > maxInputs+2100 || n < maxInputs*9/10 {
		t.Errorf("the names are %d bytes", n)
	}
}

func TestAnyLayout(t *testing.T) {
	for seed := range 300 {
		rng := rand.New(rand.NewPCG(uint64(seed), 1))
		var batches []task.Batch
		sizes := make(map[string]int64)
		for i := range 1 + rng.IntN(3) {
			size := []int64{5_000, 100 << 10, 300_000, 1 << 20}[rng.IntN(4)]
			var files []manifest.Input
			for j := range rng.IntN(20) {
				host, dir := []string{"nn", "other"}[rng.IntN(2)], []string{"", "_", fmt.Sprint(i)}[rng.IntN(3)]
				file := fmt.Sprintf("hdfs://%s/in/%s%d", host, dir, j)
				if sizes[file] == 0 {
					sizes[file] = 1 + rng.Int64N(size*[]int64{1, 2, 8}[rng.IntN(3)])
				}
				files = append(files, manifest.Input{Path: file, Size: sizes[file]})
			}
			b := newBatch(fmt.Sprint(i), size, files...)
			if rng.IntN(3) == 0 {
				b.Numbers = slices.DeleteFunc(b.Numbers, func(int) bool { return rng.IntN(5) == 0 })
			}
			batches = append(batches, b)
		}
		checkLayout(t, fmt.Sprint("seed ", seed), batches)
	}
}

func TestMaps(t *testing.T) {
	for _, tt := range []struct {
		total, size int64
		want        int
	}{{0, 10, 1}, {100, 10, 11}, {99, 10, 10}, {1 << 50, 1 << 10, 1<<31 - 9}} {
		if got := (&layout{total: tt.total, splitSize: tt.size}).maps(); got != tt.want {
			t.Errorf("%d bytes by %d: got %d, want %d", tt.total, tt.size, got, tt.want)
		}
	}
}

func TestEscapeInput(t *testing.T) {
	for in, want := range map[string]string{
		"hdfs://nn:8020/a b/é.avro": "hdfs://nn:8020/a b/é.avro",
		"/we{ir},d":                 `/we\\{ir\\}\,d`,
		`/[x]*?^\`:                  `/\\[x\\]\\*\\?\\^\\\\`,
		"/${user.name}":             `/$\\{user.name\\}`, // not a variable of Hadoop
	} {
		if got := escapeInput(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
