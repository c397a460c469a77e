package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
)

// binary is the path of the built program.
var binary string

func TestMain(m *testing.M) {
	if defect, ok := os.LookupEnv(defectVariable); ok {
		os.Exit(runDefective(defect))
	}
	var remove func()
	var err error
	if binary, remove, err = testenv.Program(); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		remove()
		os.Exit(code)
	}))
}

// output is the result of a run of the program.
type output struct {
	code           int
	stdout, stderr string
	args           []string
}

// command returns a run of the program, without the environment variables for tests.
func command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), binary, args...)
	cmd.Env = testenv.ProgramEnviron()
	return cmd
}

// rowtocol runs the program in dir, with PATH, TMPDIR and env as its environment.
func rowtocol(t *testing.T, dir string, env []string, args ...string) output {
	t.Helper()
	cmd := command(t, args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tempDir(t, dir)}, env...)
	return waitCmd(t, startCmd(t, dir, cmd))
}

// startCmd starts a run in dir. Its output goes to buffers unless cmd has writers for it.
func startCmd(t *testing.T, dir string, cmd *exec.Cmd) *exec.Cmd {
	t.Helper()
	cmd.Dir = dir
	for _, w := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		if *w == nil {
			*w = new(bytes.Buffer)
		}
	}
	must(t, cmd.Start())
	return cmd
}

// runLimit is how long a run of the program may take. The slowest takes seconds.
const runLimit = 5 * time.Minute

// stopLimit is how long the program may take to end after a signal: 10 s, and 20 s for a
// busy machine.
const stopLimit = (10 + 20) * time.Second

// givenUp is in the message of a program that ended without waiting for a hung operation.
const givenUp = "was abandoned"

// waitCmd waits for a run and returns its output. A run that hangs is made to print the
// stacks of its goroutines and to end.
func waitCmd(t *testing.T, cmd *exec.Cmd) output {
	t.Helper()
	defer time.AfterFunc(runLimit, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) }).Stop()
	if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		t.Fatal(err)
	}
	return output{cmd.ProcessState.ExitCode(), fmt.Sprint(cmd.Stdout), fmt.Sprint(cmd.Stderr), cmd.Args}
}

func tempDir(t *testing.T, dir string) string {
	t.Helper()
	tmp := filepath.Join(dir, "tmp")
	must(t, os.MkdirAll(tmp, 0o700))
	return tmp
}

// want checks that the run ended with the code and that its output has the texts.
func (o output) want(t *testing.T, code int, texts ...string) output {
	t.Helper()
	if o.code != code {
		t.Fatalf("%.300q: exit %d, want %d\nstdout: %s\nstderr: %s", o.args, o.code, code, o.stdout, o.stderr)
	}
	for _, text := range texts {
		if !strings.Contains(o.stdout+o.stderr, text) {
			t.Errorf("%.300q: %q is not in the output\nstdout: %s\nstderr: %s", o.args, text, o.stdout, o.stderr)
		}
	}
	return o
}

// lacks checks that the output has none of the texts.
func (o output) lacks(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if strings.Contains(o.stdout+o.stderr, text) {
			t.Errorf("%.300q: %q is in the output\nstdout: %s\nstderr: %s", o.args, text, o.stdout, o.stderr)
		}
	}
}

// prints checks all of standard output.
func (o output) prints(t *testing.T, want string) {
	t.Helper()
	if o.stdout != want {
		t.Errorf("%.300q printed %q, want %q", o.args, o.stdout, want)
	}
}

// log returns standard error without what it ends with for people.
func (o output) log() string { return testenv.Log(o.stderr) }

// warnings returns the lines of the log above INFO.
func (o output) warnings() (lines []string) {
	for line := range strings.Lines(o.log()) {
		if !strings.Contains(line, `"level":"INFO"`) {
			lines = append(lines, line)
		}
	}
	return lines
}

// object parses the final JSON object into v and returns its frame.
func (o output) object(t *testing.T, v any) cli.Ending {
	t.Helper()
	r := cli.Ending{Result: v}
	dec := json.NewDecoder(strings.NewReader(o.stdout))
	if err := dec.Decode(&r); err != nil {
		t.Fatalf("%v in %q", err, o.stdout)
	}
	if dec.More() {
		t.Errorf("more than one object on standard output: %q", o.stdout)
	}
	if r.Exit != o.code {
		t.Errorf("the object has exit %d, the program %d", r.Exit, o.code)
	}
	return r
}

const pairSchema = `{"type":"record","name":"Pair","namespace":"t","fields":[{"name":"id","type":"long"},{"name":"words","type":{"type":"array","items":"string"}}]}`

// syncMarker is the sync marker of the tests' Avro files.
var syncMarker = [16]byte([]byte("sync-sync-sync-s"))

// writePairs writes an Avro file of rows {id: first+i, words: [id in decimal] * i%3}, ten per
// block, and returns its bytes.
func writePairs(t *testing.T, dir, name string, first, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := ocf.NewWriter(&b, pairSchema, "null", syncMarker)
	must(t, err)
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
			must(t, w.AppendBlock(int64(i%10+1), data))
			data = data[:0]
		}
	}
	write(t, filepath.Join(dir, name), b.Bytes())
	return b.Bytes()
}

var must = testenv.Must

func appendVarint(b []byte, n int) []byte {
	u := uint64(n) << 1
	for ; u >= 0x80; u >>= 7 {
		b = append(b, byte(u)|0x80)
	}
	return append(b, byte(u))
}

func write(t *testing.T, name string, b []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o700))
	must(t, os.WriteFile(name, b, 0o600))
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(name)
	must(t, err)
	return b
}

// partOf returns the path of the i-th part in an output's manifest.
func partOf(t *testing.T, dest string, i int) string {
	t.Helper()
	return filepath.Join(dest, manifestIn(t, dest).Parts[i].Files[0].Name)
}

// manifestIn reads the manifest in a directory.
func manifestIn(t *testing.T, dir string) *manifest.Success {
	t.Helper()
	s, err := manifest.DecodeSuccess(read(t, filepath.Join(dir, manifest.SuccessName)))
	must(t, err)
	return s
}

// changeManifest changes the manifest in a directory.
func changeManifest(t *testing.T, dir string, change func(*manifest.Success)) {
	t.Helper()
	s := manifestIn(t, dir)
	change(s)
	doc, err := s.Encode()
	must(t, err)
	write(t, filepath.Join(dir, manifest.SuccessName), doc)
}

// fileSums returns the checksums of the files below dir, by name. It skips _inputs, which
// depends on the age of the inputs.
func fileSums(t *testing.T, dir string) map[string]uint32 {
	t.Helper()
	files := map[string]uint32{}
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && d.Name() != manifest.InputsName {
			files[strings.TrimPrefix(name, dir)] = crc32.ChecksumIEEE(read(t, name))
		}
		return err
	})
	must(t, err)
	return files
}

// wantUnchanged checks that the files below dir are as before.
func wantUnchanged(t *testing.T, dir string, before map[string]uint32) {
	t.Helper()
	if after := fileSums(t, dir); !maps.Equal(before, after) {
		t.Errorf("%v became %v", before, after)
	}
}

func wantAbsent(t *testing.T, name string) {
	t.Helper()
	if _, err := os.Lstat(name); err == nil {
		t.Errorf("%s exists", name)
	}
}

// flip changes bits of the byte at an offset of a file, from its end if at is negative, and
// returns the bytes before the change.
func flip(t *testing.T, name string, at int, bits byte) (sound []byte) {
	t.Helper()
	sound = read(t, name)
	damaged := bytes.Clone(sound)
	if at < 0 {
		at += len(damaged)
	}
	damaged[at] ^= bits
	write(t, name, damaged)
	return sound
}

// waitFor waits until a file matches the pattern.
func waitFor(t *testing.T, pattern string) {
	t.Helper()
	for range 30_000 {
		if found, err := filepath.Glob(pattern); err == nil && len(found) > 0 {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("%s did not appear", pattern)
}

// globAtLeast returns the files that match a pattern, at least a number of them.
func globAtLeast(t *testing.T, pattern string, least int) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) < least {
		t.Fatalf("%s: %q, %v, want at least %d files", pattern, found, err, least)
	}
	return found
}

// globOne returns the only file that matches a pattern.
func globOne(t *testing.T, pattern string) string {
	t.Helper()
	found := globAtLeast(t, pattern, 1)
	if len(found) > 1 {
		t.Fatalf("%s: %q, want one file", pattern, found)
	}
	return found[0]
}
