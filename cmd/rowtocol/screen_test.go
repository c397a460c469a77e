package main

import (
	"os"
	"testing"
	"time"
)

// TestReaderGone checks that a lost reader of the output changes neither work nor exit code.
func TestReaderGone(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 20_000)
	rowtocol(t, dir, nil, "convert", "--codec", "null", "a.avro", "out").want(t, 0)
	part := partOf(t, dir+"/out", 0)
	write(t, dir+"/bad.trv", read(t, part)[:1000])
	for _, c := range []struct {
		code int
		args []string
	}{
		{0, []string{"convert", "--log-level", "debug", "a.avro", "new"}},
		{0, []string{"inspect", "--bytes", part}}, {0, []string{"cat", "out"}}, {0, []string{"cat", "--help"}}, {0, []string{"inspect", "--json", "out"}},
		{6, []string{"verify", "bad.trv"}}, {6, []string{"verify", "--json", "bad.trv"}}, {3, []string{"cat", "bad.trv"}}, {1, []string{"cat"}},
	} {
		gone, pipe, err := os.Pipe()
		must(t, err)
		_ = gone.Close()
		cmd := command(t, c.args...)
		cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.Env = dir, pipe, pipe, []string{"TMPDIR=" + tempDir(t, dir)}
		_ = cmd.Run()
		_ = pipe.Close()
		if code := cmd.ProcessState.ExitCode(); code != c.code {
			t.Errorf("%v: exit %d, want %d (%v)", c.args, code, c.code, cmd.ProcessState)
		}
	}
	rowtocol(t, dir, nil, "verify", "new").want(t, 0, "20000 rows")
}

// TestReaderGoneInSilence checks that a command that only prints ends after its reader is gone,
// although it has nothing to print: its input never ends.
func TestReaderGoneInSilence(t *testing.T) {
	t.Parallel() // it waits
	const patience = 30 * time.Second
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 20_000)
	rowtocol(t, dir, nil, "convert", "--index", "id", "a.avro", "out").want(t, 0)
	begun := read(t, dir+"/a.avro")
	begun = begun[:len(begun)-100]
	for _, args := range [][]string{
		{"cat", "--where", "id < 0", "-"}, {"head", "--where", "id < 0", "-"}, {"cat", "--to", "arrow", "--where", "id < 0", "-"},
		{"count", "--json", "-"}, {"stats", "-"}, {"inspect", "-"}, {"lookup", "out", "-"},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			reader, stdout, err := os.Pipe()
			must(t, err)
			stdin, writer, err := os.Pipe()
			must(t, err)
			defer func() { _, _ = stdin.Close(), writer.Close() }()
			cmd := command(t, args...)
			cmd.Stdin, cmd.Stdout = stdin, stdout
			startCmd(t, dir, cmd)
			_ = stdout.Close()
			defer time.AfterFunc(patience, func() { _ = cmd.Process.Kill() }).Stop()
			if args[0] != "lookup" {
				_, err = writer.Write(begun)
				must(t, err)
			}
			_ = reader.Close()
			if o := waitCmd(t, cmd); o.code != 0 || o.stderr != "" {
				t.Errorf("exit %d\n%s", o.code, o.stderr)
			}
		})
	}
}
