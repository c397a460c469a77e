package main

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/memlimit"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

var program string // the built program

func TestMain(m *testing.M) {
	memlimit.Main()
	// A limit also counts files in a file system in memory, which TMPDIR may be in.
	if err := os.Setenv("TMPDIR", "/var/tmp"); err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "rowtocol-memory-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "rowtocol")
	code := 1
	if out, err := exec.Command("go", "build", "-C", "../..", "-o", program, "./cmd/rowtocol").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	_ = os.RemoveAll(dir) // scratch
	os.Exit(code)
}

// runLimited runs the program with the given MiB of --memory. The kernel kills it beyond
// that and its headroom. It must end with 0, or with 1 and a message with the memory that
// it needs.
func runLimited(t *testing.T, memory int, args ...string) (done bool) {
	t.Helper()
	cmd := exec.Command(program, append(args, "--memory", fmt.Sprintf("%dMiB", memory))...)
	var stderr bytes.Buffer
	cmd.Stderr, cmd.Env = &stderr, testenv.ProgramEnviron()
	u, err := memlimit.Run(cmd, int64(memory+headroom)*mib)
	testenv.Must(t, err)
	if most := int64(memory+headroom) * mib; u.Peak > most {
		t.Errorf("%q with %d MiB took %d MiB", args, memory, u.Peak/mib)
	}
	said := lastMessage(stderr.String())
	switch {
	case u.Killed:
		t.Errorf("%q with %d MiB was killed", args, memory)
	case u.Exit == 1 && strings.Contains(said, "--memory "):
	case u.Exit != 0:
		t.Errorf("%q with %d MiB: exit %d: %s", args, memory, u.Exit, said)
	}
	return u.Exit == 0
}

// files makes the files of an input and returns their folder.
func (in *input) files(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), in.name)
	testenv.Must(t, in.prepare(dir))
	return filepath.Join(dir, "in")
}

// TestNeverKilled has inputs whose sizes are hard to predict: values of megabytes in one of
// many columns, blocks that inflate to a thousand times their size after others that do
// not, and values so large that three do not fit into memory.
func TestNeverKilled(t *testing.T) {
	oneWide := &input{name: "wide", make: func(dir string) error {
		return wide(dir, 1000, 100, func(_, col int) int {
			if col == 7 {
				return 5 * mib
			}
			return 4
		})
	}}
	growingBlocks := &input{name: "growing", make: func(dir string) error { return growing(dir, 4) }}
	smallItems := &input{name: "items", make: func(dir string) error { return items(dir, 6*mib) }}
	largeValues := &inputs[slices.IndexFunc(inputs, func(in input) bool { return in.name == "large-values" })]
	for _, tt := range []struct {
		in      *input
		workers int
		memory  int
		done    bool
	}{
		{oneWide, 2, 128, true},
		{growingBlocks, 2, 512, true},
		{growingBlocks, 4, 128, false},
		{largeValues, 1, 128, true},
		{largeValues, 4, 64, false},
		{smallItems, 2, 64, true},
	} {
		t.Run(fmt.Sprintf("%s %d %d", tt.in.name, tt.workers, tt.memory), func(t *testing.T) {
			in, out := tt.in.files(t), filepath.Join(t.TempDir(), "out")
			if done := runLimited(t, tt.memory, "convert", in, out, "--workers", fmt.Sprint(tt.workers)); done != tt.done {
				t.Fatalf("done: %v", done)
			} else if !done {
				return
			}
			forms := []string{"json", "avro", "arrow", "csv"}
			if tt.in == smallItems {
				forms = forms[:3] // CSV has no arrays
			}
			for _, to := range forms {
				runLimited(t, tt.memory, "cat", "--to", to, out)
			}
			if !runLimited(t, tt.memory, "verify", out) {
				t.Error("the output was not verified")
			}
			runLimited(t, tt.memory, "verify", out, "--against", in)
		})
	}
}

// TestRandomInputs converts and reads random inputs with random memory and workers. No
// run is killed, and an output is the same as with plenty of memory.
func TestRandomInputs(t *testing.T) {
	refused := 0
	rounds := soak.Rounds(3, 100)
	for seed := range uint64(rounds) {
		in, rng := drawInput(seed), rand.New(rand.NewPCG(seed, 12))
		memory := logUniform(rng, 32, 1024)
		dir := t.TempDir()
		if err := file(dir, "in.avro", func(w *bufio.Writer) error { return in.write(w) }); err != nil {
			t.Fatal(err)
		}
		block := 64 << 10
		for block > 1<<10 && 3*block*len(in.columns) > memory*mib {
			block /= 2
		}
		flags := []string{
			"--block-size", fmt.Sprint(block), "--row-group-size", fmt.Sprint(logUniform(rng, max(256<<10, len(in.columns)<<10), 64*mib)),
			"--codec", []string{"snappy", "deflate", "null", "zstandard"}[rng.IntN(4)],
		}
		convert := func(name string, memory int, more ...string) bool {
			return runLimited(t, memory, slices.Concat([]string{"convert", filepath.Join(dir, "in.avro"), filepath.Join(dir, name)}, flags, more)...)
		}
		if !convert("plenty", 4096) {
			t.Fatalf("seed %d, %v: refused with plenty of memory", seed, in)
		}
		workers := fmt.Sprint(1 + rng.IntN(8))
		if !convert("little", memory, "--workers", workers) {
			refused++
		} else if want, got := contents(t, filepath.Join(dir, "plenty")), contents(t, filepath.Join(dir, "little")); !slices.Equal(want, got) {
			t.Errorf("seed %d, %v, %d MiB, %s workers: other bytes than with plenty of memory", seed, in, memory, workers)
		}
		to := []string{"json", "avro", "arrow"}[rng.IntN(3)]
		runLimited(t, memory, "cat", "--to", to, filepath.Join(dir, "plenty"))
		runLimited(t, memory, "verify", filepath.Join(dir, "plenty"), "--workers", workers)
		if t.Failed() {
			t.Fatalf("seed %d, %v", seed, in)
		}
		testenv.Must(t, os.RemoveAll(dir))
	}
	t.Logf("%d of %d conversions were refused", refused, rounds)
}

// contents returns the checksums of an output's parts, in the order of their rows.
func contents(t *testing.T, dir string) (sums []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "part-*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%d parts, %v", len(names), err)
	}
	for _, name := range names { // they begin with task and row group
		data, err := os.ReadFile(name)
		testenv.Must(t, err)
		sums = append(sums, fmt.Sprintf("%x", sha256.Sum256(data)))
	}
	return sums
}

// TestSmallFiles has files of a few KB that expand to much.
func TestSmallFiles(t *testing.T) {
	expanded := &input{name: "expanded", make: func(dir string) error {
		return oneBlock(dir, expandedSchema(16), 1, make([]byte, 1<<16))
	}}
	symbols := &input{name: "symbols", make: func(dir string) error {
		return oneBlock(dir, enumSchema(20_000, 2001), 1, make([]byte, 2001))
	}}
	for _, tt := range []struct {
		in     *input
		memory int
		args   string
		done   bool
	}{
		{expanded, 64, "convert", false},
		{expanded, 64, "cat", true}, // rows of Avro files are not shredded
		{expanded, 64, "stats", false},
		{expanded, 64, "count", true},
		{expanded, 64, "inspect", true},
		{expanded, 64, "schema --shredded", true},
		{expanded, 16, "schema --shredded", false},
		{symbols, 128, "cat --to arrow", true},
		{symbols, 128, "cat --to parquet", true},
	} {
		t.Run(fmt.Sprintf("%s %s %d", tt.in.name, tt.args, tt.memory), func(t *testing.T) {
			args := append(strings.Fields(tt.args), filepath.Join(tt.in.files(t), "a.avro"))
			if args[0] == "convert" {
				args = append(args, filepath.Join(t.TempDir(), "out"))
			}
			if done := runLimited(t, tt.memory, args...); done != tt.done {
				t.Errorf("done: %v", done)
			}
		})
	}
}

// oneBlock makes a file of one block.
func oneBlock(dir, schema string, rows int64, data []byte) error {
	return blocks(dir, "null", func(add func(rows int64, data []byte) error) error { return add(rows, data) }, schema)
}

// expandedSchema returns a schema of records, each with the previous one twice.
func expandedSchema(levels int) string {
	s := `"int"`
	for i := range levels {
		again := `"int"`
		if i > 0 {
			again = fmt.Sprintf(`"R%d"`, i-1)
		}
		s = fmt.Sprintf(`{"type":"record","name":"R%d","fields":[{"name":"a","type":%s},{"name":"b","type":%s}]}`, i, s, again)
	}
	return s
}

// enumSchema returns a schema of fields of one enum.
func enumSchema(symbols, fields int) string {
	names := make([]string, symbols)
	for i := range names {
		names[i] = fmt.Sprintf(`"symbol_%d"`, i)
	}
	all := make([]string, fields)
	for i := range all {
		all[i] = fmt.Sprintf(`{"name":"f%d","type":"E"}`, i)
	}
	all[0] = `{"name":"f0","type":{"type":"enum","name":"E","symbols":[` + strings.Join(names, ",") + `]}}`
	return `{"type":"record","name":"R","fields":[` + strings.Join(all, ",") + `]}`
}
