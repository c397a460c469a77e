package main

import (
	"os"
	"strings"
	"testing"
)

// TestDocumentsOfFlags checks that a document named by a flag must be a regular file. For
// anything else the message says what it is, and the program does not wait.
func TestDocumentsOfFlags(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	makeFIFO(t, dir+"/pipe")
	stdin, writer, err := os.Pipe()
	must(t, err)
	defer func() { _, _ = stdin.Close(), writer.Close() }()
	write(t, dir+"/large", nil)
	must(t, os.Truncate(dir+"/large", 1<<40))
	for flag, args := range map[string]string{
		"--config": "convert a.avro out --config", "--schema": "convert a.avro out --schema",
		"--plan": "task --task 0 --plan",
	} {
		for name, reason := range map[string]string{
			"pipe": "a named pipe is not a regular file", ".": "a directory is not a regular file",
			"/dev/stdin": "a named pipe is not a regular file", "/dev/zero": "a device is not a regular file", "large": "1099511627776 bytes",
		} {
			cmd := command(t, append(strings.Fields(args), name)...)
			cmd.Dir, cmd.Stdin = dir, stdin
			out, err := cmd.CombinedOutput()
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(string(out), flag+": "+name) || !strings.Contains(string(out), reason) {
				t.Errorf("%s %s: exit %d, %v\n%s", flag, name, code, err, out)
			}
		}
	}
}
