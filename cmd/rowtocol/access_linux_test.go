package main

import (
	encoding "encoding/binary"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestAccessOfOutputs checks that all files and directories of an output follow the umask, and in
// a directory with a default access control list that list.
func TestAccessOfOutputs(t *testing.T) {
	dir := t.TempDir()
	damageHeader(t, dir, "in/b.avro", "truncated", 0, 10)
	writePairs(t, dir, "in/a.avro", 0, 100)
	for _, c := range []struct {
		umask           string
		acl             bool
		file, directory fs.FileMode
	}{
		{"027", false, 0o640, 0o750}, {"002", false, 0o664, 0o775}, {"077", false, 0o600, 0o700},
		{"077", true, 0o660, 0o770}, // the list takes the place of the umask
	} {
		parent := filepath.Join(dir, c.umask, map[bool]string{false: "plain", true: "listed"}[c.acl])
		must(t, os.MkdirAll(parent, 0o700))
		if c.acl && !setDefaultACL(t, parent) {
			continue
		}
		for _, flags := range []string{"--index id", "--format cfile --incremental"} {
			out := filepath.Join(parent, flags[2:7])
			script := "umask " + c.umask + "; exec " + binary + " convert -q --on-damage quarantine " + flags + " in " + out
			cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
			cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tempDir(t, dir)}
			if text, err := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != 8 {
				t.Fatalf("%s: %v, %s", script, err, text)
			}
			must(t, filepath.WalkDir(out, func(name string, d fs.DirEntry, err error) error {
				if err != nil {
					return err
				}
				info, err := d.Info()
				want := c.file
				if d.IsDir() {
					want = c.directory
				}
				if err == nil && info.Mode().Perm() != want {
					t.Errorf("umask %s, list %v: %s has %v, want %v", c.umask, c.acl, strings.TrimPrefix(name, out), info.Mode(), want)
				}
				return err
			}))
		}
	}
}

// setDefaultACL gives a directory a default access control list with all rights for one more
// group. It returns false if the file system has no such lists.
func setDefaultACL(t *testing.T, dir string) bool {
	t.Helper()
	const noID = ^uint32(0)
	list := encoding.LittleEndian.AppendUint32(nil, 2) // the version
	for _, e := range []struct {
		tag, rights uint16
		id          uint32
	}{{1, 7, noID}, {4, 5, noID}, {8, 7, 4242}, {16, 7, noID}, {32, 0, noID}} {
		list = encoding.LittleEndian.AppendUint32(encoding.LittleEndian.AppendUint16(encoding.LittleEndian.AppendUint16(list, e.tag), e.rights), e.id)
	}
	err := syscall.Setxattr(dir, "system.posix_acl_default", list, 0)
	if errors.Is(err, syscall.ENOTSUP) {
		return false
	}
	must(t, err)
	return true
}
