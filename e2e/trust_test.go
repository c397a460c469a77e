package e2e

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/job/manifest/manifesttest"
)

// foreignDir makes a directory with a file and a directory that no conversion may change.
func foreignDir(t *testing.T, dir string) string {
	t.Helper()
	v := filepath.Join(dir, "victim")
	must(t, errors.Join(os.MkdirAll(filepath.Join(v, "plan-1"), 0o777),
		os.WriteFile(filepath.Join(v, "x"), []byte("mine"), 0o644),
		os.WriteFile(filepath.Join(v, "plan-1", "y"), []byte("mine"), 0o644)))
	return v
}

// TestForeignDestination converts to destinations with links that lead out of them, or with
// a false manifest. They are refused, with and without --overwrite, and nothing changes
// in them or elsewhere.
func TestForeignDestination(t *testing.T) {
	// success returns a manifest that lists a file of another name.
	success := func(name string) string {
		file := fmt.Sprintf(`{"name": %q, "bytes": 4, "crc32c": 0}`, name)
		return string(manifesttest.Seal(fmt.Appendf(nil, `{"version": 2, "id": "0123456789abcdef", "parts": [{"task": 0, "rows": 1, "files": [%s]}]}`, file)))
	}
	for name, prepare := range map[string]func(dest, victim string) error{
		"link .rowtocol":   func(dest, v string) error { return os.Symlink(v, filepath.Join(dest, ".rowtocol")) },
		"link _quarantine": func(dest, v string) error { return os.Symlink(v, filepath.Join(dest, "_quarantine")) },
		"link _SUCCESS": func(dest, v string) error {
			return os.Symlink(filepath.Join(v, "x"), filepath.Join(dest, "_SUCCESS"))
		},
		"empty _SUCCESS":     func(dest, _ string) error { return writeSuccess(dest, "") },
		"truncated _SUCCESS": func(dest, _ string) error { return writeSuccess(dest, success("x")[:40]) },
		"binary _SUCCESS":    func(dest, _ string) error { return writeSuccess(dest, "\x00\xff\x00") },
		"_SUCCESS lists a path through a link": func(dest, v string) error {
			return errors.Join(os.Symlink(v, filepath.Join(dest, "sub")), writeSuccess(dest, success("sub/x")))
		},
		"_SUCCESS lists a path outside": func(dest, _ string) error { return writeSuccess(dest, success("../victim/x")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			dest, v := filepath.Join(dir, "out"), foreignDir(t, dir)
			must(t, os.Mkdir(dest, 0o777))
			must(t, prepare(dest, v))
			before := tree(t, dir)
			for _, flags := range [][]string{nil, {"--overwrite"}} {
				run(t, append([]string{"convert", otherInput, dest}, flags...)...).want(t, 9).wantComplaint(t, dest)
				wantSame(t, before, tree(t, dir))
			}
		})
	}
}

func writeSuccess(dest, text string) error {
	return os.WriteFile(filepath.Join(dest, "_SUCCESS"), []byte(text), 0o644)
}

// TestOddFiles replaces files of an output with pipes, directories and the like. A message
// reports each as gone or changed, and no command hangs.
func TestOddFiles(t *testing.T) {
	made := filepath.Join(t.TempDir(), "out")
	run(t, "convert", otherInput, made).want(t, 0)
	parts, err := filepath.Glob(filepath.Join(made, "part-*"))
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	part := filepath.Base(parts[0])
	for kind, put := range map[string]func(name string) error{
		"a pipe":           func(name string) error { return syscall.Mkfifo(name, 0o666) },
		"a link to itself": func(name string) error { return os.Symlink(filepath.Base(name), name) },
		"a directory":      func(name string) error { return os.Mkdir(name, 0o777) },
	} {
		for _, c := range []struct {
			name                            string
			convert, overwrite, cat, verify int
		}{
			{"_SUCCESS", 9, 9, 3, 3},
			{part, 9, 0, 3, 6},
			{".rowtocol", 0, 0, 0, 0},
		} {
			t.Run(kind+" for "+c.name, func(t *testing.T) {
				for _, command := range []struct {
					code int
					args []string
				}{
					{c.convert, []string{"convert", otherInput}}, {c.cat, []string{"cat"}}, {c.cat, []string{"inspect"}},
					{c.verify, []string{"verify"}}, {c.overwrite, []string{"convert", "--overwrite", otherInput}},
				} {
					dest := filepath.Join(t.TempDir(), "out")
					must(t, os.CopyFS(dest, os.DirFS(made)))
					odd := filepath.Join(dest, c.name)
					must(t, errors.Join(os.RemoveAll(odd), put(odd)))
					run(t, append(command.args, dest)...).want(t, command.code)
				}
			})
		}
	}
}

// TestForgedStaging replaces files of unfinished work by files that lead elsewhere or have
// other bytes. They are not used.
func TestForgedStaging(t *testing.T) {
	c := newInterruptible(t, trevniFiles, 40_000)
	for name, forge := range map[string]func(task, part, victim string) error{
		"a result lists a path outside": func(task, part, v string) error {
			text, err := os.ReadFile(task)
			forged := strings.ReplaceAll(string(text), filepath.Base(part), "../../../../victim/x")
			return errors.Join(err, os.WriteFile(task, manifesttest.Seal([]byte(forged)), 0o644))
		},
		"a part is a link": func(_, part, v string) error {
			copied := filepath.Join(v, "copy")
			return errors.Join(os.Rename(part, copied), os.Symlink(copied, part))
		},
		"a part has a flipped bit": func(_, part, _ string) error {
			data, err := os.ReadFile(part)
			if err != nil {
				return err
			}
			data[len(data)/2] ^= 1
			return os.WriteFile(part, data, 0o644)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, dest, temp := places(t)
			v := foreignDir(t, dir)
			r := launch(t, command(c.args(dest, temp)...))
			r.waitForFile(t, c.locate(t, dest), ".rowtocol/plan-*/task-*")
			must(t, r.cmd.Process.Kill())
			<-r.ended
			tasks, err := filepath.Glob(filepath.Join(dest, ".rowtocol", "plan-*", "task-*"))
			if err != nil || len(tasks) == 0 {
				t.Fatal("the run ended before it was killed", err)
			}
			number := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(tasks[0]), "task-"), ".json")
			parts, err := filepath.Glob(filepath.Join(filepath.Dir(tasks[0]), "part-"+number+"-0-*"))
			if err != nil || len(parts) != 1 {
				t.Fatal("parts of the task: ", parts, err)
			}
			must(t, forge(tasks[0], parts[0], v))
			before := tree(t, v)
			if r := run(t, c.args(dest, temp)...); r.code != 0 {
				r.want(t, 9) // the rerun does not use the file either
				run(t, c.args(dest, temp)...).want(t, 0)
			}
			c.wantComplete(t, dest, temp)
			wantSame(t, before, tree(t, v))
		})
	}
}

// TestCatDuringOverwrite reads a destination while outputs of equal sizes replace each
// other there. With exit 0, it prints the rows of one output.
func TestCatDuringOverwrite(t *testing.T) {
	inEachFormat(t, catDuringOverwrite)
}

func catDuringOverwrite(t *testing.T, f target) {
	const (
		schema = `{"type":"record","name":"R","fields":[{"name":"row","type":{"type":"fixed","name":"F","size":8}}]}`
		rows   = 40_000
	)
	dest := filepath.Join(t.TempDir(), "out")
	converts := make([][]string, 2)
	want := make([]string, 2)
	for i := range converts {
		var blocks []block
		for row := 0; row < rows; row += 1000 {
			var data []byte
			for r := row; r < row+1000; r++ {
				data = fmt.Appendf(data, "%c%07d", 'a'+i, r)
			}
			blocks = append(blocks, block{1000, data})
		}
		input := writeAvro(t, fmt.Sprint("rows-", i), schema, blocks...)
		converts[i] = append([]string{"convert", "--overwrite", "--row-group-size=64KiB", input, dest}, f.plain...)
		run(t, converts[i]...).want(t, 0)
		want[i] = run(t, "cat", dest).want(t, 0).stdout
	}
	s, err := manifest.DecodeSuccess(readFile(t, filepath.Join(dest, "_SUCCESS")))
	must(t, err)
	if len(s.Parts) < 4 || want[0] == want[1] || len(want[0]) != len(want[1]) {
		t.Fatalf("%d parts, %d and %d bytes of rows are too few for the test", len(s.Parts), len(want[0]), len(want[1]))
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(stop)
		for i := range 4 * soak.Rounds(2, 16) {
			if r := finish(t, command(converts[i%2]...)); r.code != 0 {
				t.Errorf("convert: exit %d\n%s", r.code, r.stderr)
			}
		}
	})
	codes := map[int]int{}
	for running := true; running; {
		r := run(t, "cat", dest)
		codes[r.code]++
		if r.code != 4 && (r.code != 0 || r.stdout != want[0] && r.stdout != want[1]) {
			t.Errorf("exit %d with %d bytes\n%s", r.code, len(r.stdout), r.stderr)
		}
		select {
		case <-stop:
			running = false
		default:
		}
	}
	wg.Wait()
	if codes[0] == 0 {
		t.Error("no read was successful")
	}
	t.Logf("exit codes %v", codes)
}
