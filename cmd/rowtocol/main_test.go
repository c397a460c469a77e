package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// binary is the built program, under test as its users run it.
var binary string

func TestMain(m *testing.M) {
	if defect, ok := os.LookupEnv(defectVariable); ok {
		os.Exit(runDefective(defect))
	}
	dir, err := os.MkdirTemp("", "rowtocol-test-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "rowtocol")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Stderr = os.Stderr
	exit := func(code int) {
		if err := os.RemoveAll(dir); err != nil {
			panic(err)
		}
		os.Exit(code)
	}
	if err := build.Run(); err != nil {
		exit(1)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(exit))
}

// output is what a run of the program left.
type output struct {
	code           int
	stdout, stderr string
}

// command is a run of the program, which knows nothing of variables for tests.
func command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = testenv.OfProgram()
	return cmd
}

// rowtocol runs the program in dir with an environment of its own.
func rowtocol(t *testing.T, dir string, env []string, args ...string) output {
	t.Helper()
	cmd := command(t, args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &stdout, &stderr
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tempDir(t, dir)}, env...)
	if err := runWatched(cmd); err != nil {
		if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) {
			t.Fatal(err)
		}
	}
	return output{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// hung is how long a run of the program may take: the slowest takes seconds.
const hung = 5 * time.Minute

// stopLimit is what a program has to end in after a signal, and what a busy machine adds.
const stopLimit = (10 + 20) * time.Second

// givenUp is what it logs if what was under way did not end by itself.
const givenUp = "was given up"

// runWatched runs a command. One that hangs prints the stacks of its goroutines and ends,
// so that its test fails with them.
func runWatched(cmd *exec.Cmd) error {
	if err := cmd.Start(); err != nil {
		return err
	}
	defer time.AfterFunc(hung, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) }).Stop()
	return cmd.Wait()
}

func tempDir(t *testing.T, dir string) string {
	t.Helper()
	tmp := filepath.Join(dir, "tmp")
	if err := os.MkdirAll(tmp, 0o700); err != nil {
		t.Fatal(err)
	}
	return tmp
}

// want fails the test unless the run ended with the code and the texts stand
// in its output.
func (o output) want(t *testing.T, code int, texts ...string) output {
	t.Helper()
	if o.code != code {
		t.Fatalf("exit %d, want %d\nstdout: %s\nstderr: %s", o.code, code, o.stdout, o.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(o.stdout+o.stderr, text) {
			t.Errorf("%q is not in the output\nstdout: %s\nstderr: %s", text, o.stdout, o.stderr)
		}
	}
	return o
}

// complaints are the lines of the log that are worth a mail.
func (o output) complaints() (lines []string) {
	for line := range strings.Lines(o.stderr) {
		if !strings.Contains(line, `"level":"INFO"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// object parses the final JSON object into v and returns its frame.
func (o output) object(t *testing.T, v any) ending {
	t.Helper()
	r := ending{Result: v}
	dec := json.NewDecoder(strings.NewReader(o.stdout))
	if err := dec.Decode(&r); err != nil {
		t.Fatalf("%v in %q", err, o.stdout)
	}
	if dec.More() {
		t.Errorf("more than one object on standard output: %q", o.stdout)
	}
	if r.Exit != o.code {
		t.Errorf("the object says exit %d, the program %d", r.Exit, o.code)
	}
	return r
}

const pairSchema = `{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"id","type":"long"},{"name":"words","type":{"type":"array","items":"string"}}]}`

// pairs makes an Avro file of rows {id: first+i, words: [id in decimal] * i%3},
// ten a block.
func pairs(t *testing.T, dir, name string, first, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, pairSchema, "null", [16]byte([]byte("sync-sync-sync-s")))
	if err != nil {
		t.Fatal(err)
	}
	var data []byte
	for i := range rows {
		id := first + i
		data = appendVarint(data, id)
		if n := id % 3; n > 0 {
			data = appendVarint(data, n)
			for range n {
				word := fmt.Sprint(id)
				data = append(appendVarint(data, len(word)), word...)
			}
		}
		data = append(data, 0)
		if (i+1)%10 == 0 || i+1 == rows {
			if err := w.AppendBlock(int64(i%10+1), data); err != nil {
				t.Fatal(err)
			}
			data = data[:0]
		}
	}
	write(t, filepath.Join(dir, name), b.Bytes())
	return b.Bytes()
}

func appendVarint(b []byte, n int) []byte {
	u := uint64(n) << 1
	for ; u >= 0x80; u >>= 7 {
		b = append(b, byte(u)|0x80)
	}
	return append(b, byte(u))
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// partOf returns the path of a part of an output, by its place in the manifest.
func partOf(t *testing.T, dest string, i int) string {
	t.Helper()
	s, err := manifest.DecodeSuccess(read(t, filepath.Join(dest, manifest.SuccessName)))
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dest, s.Parts[i].Files[0].Name)
}

// state sums up the files below dir: names and bytes. It passes over what is kept of
// inputs, which depends on how old they are.
func state(t *testing.T, dir string) map[string]uint32 {
	t.Helper()
	files := map[string]uint32{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != manifest.InputsName {
			files[strings.TrimPrefix(name, dir)] = crc32.ChecksumIEEE(read(t, name))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
