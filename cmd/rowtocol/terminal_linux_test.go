package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/rowtocol/rowtocol/internal/cli"
)

// pty is a pseudo-terminal whose output is read from its other end.
type pty struct {
	terminal *os.File
	read     func() string // returns the output after all have closed the terminal
}

func newPty(t *testing.T, columns int) *pty {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: uint16(columns)}))
	must(t, err)
	terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	must(t, err)
	var text strings.Builder
	var done sync.WaitGroup
	done.Go(func() { _, _ = io.Copy(&text, master) }) // ends with EIO
	return &pty{terminal, func() string {
		done.Wait()
		return strings.ReplaceAll(text.String(), "\r\n", "\n")
	}}
}

// onTerminal runs the program with both outputs on terminals of a width.
func onTerminal(t *testing.T, dir string, columns int, args ...string) output {
	t.Helper()
	return onTerminalOf(t, dir, columns, "TERM=", args...)
}

func onTerminalOf(t *testing.T, dir string, columns int, kind string, args ...string) output {
	t.Helper()
	cmd := command(t, args...)
	stdout, stderr := newPty(t, columns), newPty(t, columns)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout.terminal, stderr.terminal
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tempDir(t, dir), kind}
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	must(t, errors.Join(stdout.terminal.Close(), stderr.terminal.Close()))
	return output{cmd.ProcessState.ExitCode(), stdout.read(), stderr.read(), args}
}

// wantHarmless checks that the output has no control characters and no invisible ones, except
// those that redraw the progress line.
func (o output) wantHarmless(t *testing.T) output {
	t.Helper()
	for _, text := range []string{o.stdout, strings.ReplaceAll(o.stderr, "\r\x1b[K", "")} {
		if i := strings.IndexFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); i >= 0 || !utf8.ValidString(text) {
			t.Errorf("a control or invisible character is at %d of %q", i, text)
		}
	}
	return o
}

// hostile is text that no terminal should get: it clears the screen, in two ways, reverses the
// following text, hides text, and is not UTF-8.
const hostile = "\x1b[2J\u009b2J\u202eevil\u200b\U000e0041\x7f\u2028\r\x80"

// redrawn matches lines of progress, which a slow machine may print in any run.
var redrawn = regexp.MustCompile(`\r\x1b\[K[^\r\n]*`)

// TestLogOnTerminal checks that a terminal shows the summary, and with flags the log of the run.
func TestLogOnTerminal(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 100)
	for i, c := range []struct {
		flags, stderr string
		stdout        bool
	}{
		{"", "", true},
		{"--quiet", "", false},
		{"--verbose", "level=INFO msg=\"convert begins\" run=", true},
		{"--log-format=text", "Z level=INFO msg=\"convert begins\" run=", true},
		{"--log-format=json", `"level":"INFO","msg":"convert begins","run":"`, true},
	} {
		args := append([]string{"convert", "a.avro", fmt.Sprint("out", i)}, strings.Fields(c.flags)...)
		o := onTerminal(t, dir, 80, args...).want(t, 0)
		o.stderr = redrawn.ReplaceAllString(o.stderr, "")
		if (o.stderr == "") != (c.stderr == "") || !strings.Contains(o.stderr, c.stderr) || (o.stdout != "") != c.stdout {
			t.Errorf("%s: %q, %q", c.flags, o.stdout, o.stderr)
		}
	}
	if o := onTerminal(t, dir, 80, "convert", "--log-format", "json", "none.avro", "out").want(t, 3); !strings.Contains(o.stderr, `"level":"ERROR"`) {
		t.Errorf("%q", o.stderr)
	}
}

// TestTerminalIsNotControlled checks that terminals get no control characters from files.
func TestTerminalIsNotControlled(t *testing.T) {
	dir := t.TempDir()
	text := strings.TrimSuffix(hostile, "\x80") // JSON and plans hold only UTF-8
	name, err := json.Marshal(text)
	must(t, err)
	schema := fmt.Sprintf(`{"type":"record","name":"R","doc":%s,"fields":[{"name":%s,"type":"string"},`+
		`{"name":"e","type":{"type":"enum","name":"E","symbols":[%s]}}]}`, name, name, name)
	row := append(append(appendVarint(nil, len(hostile)), hostile...), 0)
	input := "in/" + strings.ReplaceAll(text, "/", "") + ".avro"
	write(t, filepath.Join(dir, input), encodeAvro(t, schema, row))
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	part := partOf(t, dir+"/out", 0)
	odd := "o" + hostile + ".trv"
	write(t, filepath.Join(dir, odd), read(t, part)[:60])
	write(t, filepath.Join(dir, "job.yaml"), []byte(string(name)+": 1\n"))

	for _, args := range [][]string{
		{"convert", "in", "out2" + text}, {"convert", "in", "out2" + hostile}, {"convert", "--dry-run", "in", "out3"}, {"plan", "in", "out4", "-o", "plan" + hostile},
		{"convert", "in", "none" + text + "/x/y"}, {"convert", "none" + hostile, "out5"}, {"convert", "--config", "job.yaml", "in", "out6"},
		{"cat", "out"}, {"cat", "--json-unions", "out"}, {"cat", "--to", "csv", "out"}, {"cat", "--columns", "none" + hostile, "out"},
		{"inspect", "out"}, {"inspect", part}, {"inspect", "--json", "out"}, {"inspect", "--bytes", part}, {"inspect", odd},
		{"schema", input}, {"schema", "--shredded", input}, {"schema", part}, {"schema", odd},
		{"verify", "out"}, {"verify", odd}, {"verify", "out", "--against", "in"}, {hostile}, {"cat", "--" + hostile, "out"},
	} {
		o := onTerminal(t, dir, 80, args...).wantHarmless(t)
		if o.code == 2 || o.stdout+o.stderr == "" {
			t.Errorf("%q: exit %d: %s%s", args, o.code, o.stdout, o.stderr)
		}
		if n := strings.Count(o.stderr, "\n"); o.code != 0 && n != 1 {
			t.Errorf("%q: an error of %d lines: %s", args, n, o.stderr)
		}
	}

	// The escaped JSON on a terminal is the same JSON. A pipe gets the bytes unchanged.
	o := onTerminal(t, dir, 80, "cat", "out").want(t, 0)
	piped := rowtocol(t, dir, nil, "cat", "out").want(t, 0)
	var shown, sent map[string]string
	must(t, errors.Join(json.Unmarshal([]byte(o.stdout), &shown), json.Unmarshal([]byte(piped.stdout), &sent)))
	if !maps.Equal(shown, sent) || shown["e"] != text {
		t.Errorf("%q is shown as %q", sent, shown)
	}
	if !strings.Contains(piped.stdout, "\u009b2J\u202eevil") {
		t.Errorf("a pipe got other bytes: %q", piped.stdout)
	}
}

// typesSchema has fields of types whose columns have another type.
const typesSchema = `{"type":"record","name":"T","fields":[
	{"name":"amount","type":{"type":"bytes","logicalType":"decimal","precision":10,"scale":2}},
	{"name":"day","type":["null",{"type":"int","logicalType":"date"}]},
	{"name":"at","type":{"type":"array","items":{"type":"long","logicalType":"timestamp-millis"}}},
	{"name":"state","type":{"type":"enum","name":"S","symbols":["ON","OFF"]}},
	{"name":"key","type":{"type":"string","logicalType":"uuid"}},
	{"name":"hash","type":{"type":"fixed","name":"H","size":3}},
	{"name":"a_name_that_is_as_long_as_names_of_generated_schemas_are_日本語日本語日本語日本語_end","type":"double"},
	{"name":"plain","type":"long"}]}`

// typesOutput converts a row of typesSchema.
func typesOutput(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	row := append([]byte{2, 7, 2, 0, 2, 2, 0, 0, 2, 'k', 'a', 'b', 'c'}, make([]byte, 8)...)
	write(t, dir+"/a.avro", encodeAvro(t, typesSchema, append(row, 14)))
	rowtocol(t, dir, nil, "convert", "a.avro", "a-long-name-of-a-directory-that-alone-takes-most-of-eighty-columns.columns").want(t, 0, "1 row in 1 file,")
	return dir
}

// TestTablesFitTheTerminal checks that tables fit the terminal, by shortened names and fewer
// columns, and that a pipe gets complete tables.
func TestTablesFitTheTerminal(t *testing.T) {
	dir := typesOutput(t)
	dest := globOne(t, dir+"/*.columns")
	for _, columns := range []int{20, 40, 80, 100, 200} {
		for _, args := range [][]string{{"inspect", dest}, {"inspect", partOf(t, dest, 0)}, {"schema", "--shredded", "a.avro"}} {
			o := onTerminal(t, dir, columns, args...).want(t, 0, "plain", "_end")
			for _, line := range strings.Split(o.stdout, "\n") {
				if cli.TextWidth(line) > columns {
					t.Errorf("%d columns: %s: %q", columns, args[0], line)
				}
			}
			if shortened := strings.Contains(o.stdout, "…"); shortened != (columns < 200) && args[0] == "inspect" {
				t.Errorf("%d columns: shortened is %v:\n%s", columns, shortened, o.stdout)
			}
			if columns >= 80 {
				o.want(t, 0, "decimal(10,2)", "date[]", "timestamp-millis[]", "enum", "uuid", "fixed(3)")
			}
		}
	}
	for _, args := range [][]string{{"inspect", dest}, {"schema", "--shredded", "a.avro"}} {
		rowtocol(t, dir, nil, args...).want(t, 0, "_are_日本語日本語日本語日本語_end ", "stored as", "decimal(10,2)", "bytes", "date[]", "int[]", "parent").lacks(t, "…")
	}
	var table struct{ Columns []columnEntry }
	for _, args := range [][]string{{"inspect", "--json", dest}, {"schema", "--shredded", "--json", "a.avro"}, {"schema", "--shredded", "--json", partOf(t, dest, 0)}} {
		rowtocol(t, dir, nil, args...).want(t, 0).object(t, &table)
		if c := table.Columns; c[0].Logical != "decimal(10,2)" || c[0].Type != "bytes" || c[1].Logical != "date" || c[3].Logical != "enum" || c[7].Logical != "" {
			t.Errorf("%v: %+v", args, c)
		}
	}
}

// TestStatusTreeOnTerminal checks that status of partitions is complete on a narrow terminal.
func TestStatusTreeOnTerminal(t *testing.T) {
	dir := makeTree(t, "mail/country=germany/dt=2026-01-01", "mail/country=germany/dt=2026-01-02")
	write(t, dir+"/mail/country=germany/dt=2026-01-02/x", nil)
	write(t, dir+"/mail/country=germany/dt=2026-01-02/.rowtocol/trash-1/x", nil)
	onTerminal(t, dir, 50, "status", "mail").want(t, 0, "country=germany/dt=2026-01-02: leftovers, files that are not rowtocol's\n")
}

// TestSingulars checks that messages use the singular for one of anything.
func TestSingulars(t *testing.T) {
	dir := typesOutput(t)
	rowtocol(t, dir, nil, "plan", "a.avro", "new", "-o", "plan.json").want(t, 0, "1 input, 1 task\n")
	rowtocol(t, dir, nil, "convert", "--dry-run", "a.avro", "new").want(t, 0, "1 input,", "1 task of ", "about 1 row group of ")
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "0").want(t, 0, "1 task of plan", ": 1 row in 1 file,")
	rowtocol(t, dir, nil, "task", "--plan", "plan.json", "--task", "0").want(t, 0, "; 1 task was done before")
	rowtocol(t, dir, nil, "commit", "--plan", "plan.json").want(t, 0, "1 row in 1 file, ")
	rowtocol(t, dir, nil, "convert", "a.avro", "new").want(t, 0, "the 1 row of these inputs")
	rowtocol(t, dir, nil, "verify", "new", "--against", "a.avro").want(t, 0, "sound: 1 file, 1 row,", "1 row of 1 input is equal")
	rowtocol(t, dir, nil, "cat", "--stats", "--columns", "plain", "new").want(t, 0, "1 of 1 row; ", "1 of 1 block of")
	rowtocol(t, dir, nil, "stats", "--columns", "plain", "new").want(t, 0, "1 row\n")
	rowtocol(t, dir, nil, "inspect", "a.avro").want(t, 0, ": 1 row in 1 block, ", "  blocks of 1 row, ")
	wide := `{"type":"record","name":"R","fields":[{"name":"a","type":"string"},{"name":"b","type":"string"}]}`
	write(t, dir+"/wide.avro", encodeAvro(t, wide, []byte(strings.Repeat("\x10wideness", 2))))
	onTerminal(t, dir, 17, "head", "wide.avro").want(t, 0, "1 more column: b")
	write(t, dir+"/bad.trv", read(t, partOf(t, dir+"/new", 0))[:50])
	rowtocol(t, dir, nil, "verify", "bad.trv").want(t, 6, "1 difference,")
}

// TestProgressOnTerminal checks that the progress line of long commands has a bar, a rate and
// the time left.
func TestProgressOnTerminal(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 300_000)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	writePairs(t, dir, "more.avro", 0, 800_000) // enough rows that a fast machine draws progress
	rowtocol(t, dir, nil, "convert", "more.avro", "more").want(t, 0)
	for i, args := range [][]string{
		{"verify", "more", "--against", "more.avro"},
		{"cat", "--to", "avro", "--output-codec", "xz", "--output", "rows.avro", "--limit", "290000", "out"},
		{"cat", "--to", "avro", "--output-codec", "xz", "--output", "some.avro", "--where", "id >= 0", "out"},
	} {
		columns := []int{40, 80}[i%2]
		o := onTerminal(t, dir, columns, args...).want(t, 0, "/s", " left", "░", "█")
		for _, line := range strings.Split(o.stderr, "\r\x1b[K") {
			if cli.TextWidth(line) >= columns {
				t.Errorf("%v: %q is wider than %d columns", args, line, columns)
			}
		}
	}
	// A terminal that cannot redraw a line gets no progress line.
	if o := onTerminalOf(t, dir, 80, "TERM=dumb", "verify", "more", "--against", "more.avro").want(t, 0, "sound"); o.stderr != "" {
		t.Errorf("on a dumb terminal: %q", o.stderr)
	}
}

// TestStatsOfWhatWasRead checks that no more bytes and blocks count as read than there are.
func TestStatsOfWhatWasRead(t *testing.T) {
	dir := typesOutput(t)
	dest := globOne(t, dir+"/*.columns")
	for _, flags := range [][]string{{}, {"--where", "plain == 7"}, {"--to", "arrow", "--output", "rows.arrow", "--overwrite"}} {
		for _, names := range [][]string{{dest}, {dest, dest}} {
			args := slices.Concat([]string{"cat", "--json", "--stats"}, flags, names)
			o := rowtocol(t, dir, nil, args...).want(t, 0)
			text := o.stderr
			if text == "" {
				text = o.stdout
			}
			r := cli.Ending{Result: &catted{}}
			must(t, json.Unmarshal([]byte(text), &r))
			if c := r.Result.(*catted); c.BytesRead == 0 || c.BytesRead > c.FileBytes || c.BlocksRead == 0 || c.BlocksRead > c.Blocks {
				t.Errorf("%v: %+v", args, c)
			}
		}
	}
}
