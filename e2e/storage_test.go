package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// smallDisk mounts a file system of the given KiB.
func smallDisk(t *testing.T, kib string) string {
	t.Helper()
	if os.Geteuid() != 0 {
		testenv.Skip(t, "only root can mount a small disk")
	}
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+kib+"k", "tmpfs", dir).CombinedOutput(); err != nil {
		testenv.Skip(t, "mount: "+string(out))
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			t.Errorf("umount: %v: %s", err, out)
		}
	})
	return dir
}

func mail(t *testing.T, rows int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "mail.avro")
	writeMail(t, path, rows)
	return path
}

func TestFullSpillDisk(t *testing.T) {
	temp, dest := smallDisk(t, "1024"), filepath.Join(t.TempDir(), "out")
	run(t, "convert", "--temp-dir", temp, mail(t, 20_000), dest).want(t, 4).wantComplaint(t, temp)
	wantEmpty(t, temp)
	wantEmpty(t, dest)
}

// TestSpillDiskWithoutLimit spills to a tmpfs of size 0, which has no limit.
func TestSpillDiskWithoutLimit(t *testing.T) {
	temp, dest := smallDisk(t, "0"), filepath.Join(t.TempDir(), "out")
	run(t, "convert", "--temp-dir", temp, mail(t, 20_000), dest).want(t, 0)
	wantEmpty(t, temp)
}

func TestFullDestination(t *testing.T) {
	dest, temp := filepath.Join(smallDisk(t, "1024"), "out"), t.TempDir()
	run(t, "convert", "--temp-dir", temp, mail(t, 20_000), dest).want(t, 4).wantComplaint(t, dest)
	wantEmpty(t, temp)
	wantEmpty(t, dest)
}

func TestReadOnlyDestination(t *testing.T) {
	var parent string
	if os.Geteuid() == 0 {
		parent = smallDisk(t, "1024") // root may write to a directory that is only marked read-only
		if out, err := exec.Command("mount", "-o", "remount,ro", parent).CombinedOutput(); err != nil {
			testenv.Skip(t, "remount: "+string(out))
		}
	} else {
		parent = t.TempDir()
		must(t, os.Chmod(parent, 0o555))
	}
	temp := t.TempDir()
	run(t, "convert", "--temp-dir", temp, mail(t, 100), filepath.Join(parent, "out")).want(t, 7).wantComplaint(t, parent)
	wantEmpty(t, temp)
}

func TestWrongDestination(t *testing.T) {
	input, temp := mail(t, 100), t.TempDir()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, []byte("mine"), 0o644))
	foreign := filepath.Join(t.TempDir(), "foreign")
	must(t, os.MkdirAll(filepath.Join(foreign, "mine"), 0o777))
	for _, c := range []struct {
		name, input, dest string
		code              int
	}{
		{"a file", input, file, 1},
		{"the input", input, input, 1},
		{"inside the input", filepath.Dir(input), filepath.Join(filepath.Dir(input), "out"), 1},
		{"the input directory", filepath.Dir(input), filepath.Dir(input), 1},
		{"without a parent", input, filepath.Join(temp, "no", "such", "out"), 7},
		{"something else", input, foreign, 9},
		{"missing input", filepath.Join(temp, "none.avro"), filepath.Join(temp, "out"), 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			inputBefore, destBefore := tree(t, filepath.Dir(input)), tree(t, filepath.Dir(c.dest))
			run(t, "convert", "--temp-dir", temp, c.input, c.dest).want(t, c.code).wantComplaint(t)
			wantSame(t, inputBefore, tree(t, filepath.Dir(input)))
			wantSame(t, destBefore, tree(t, filepath.Dir(c.dest)))
			wantEmpty(t, temp)
		})
	}
}

func wantSame(t *testing.T, before, after map[string]string) {
	t.Helper()
	for name := range before {
		if after[name] != before[name] {
			t.Errorf("%s was changed", name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			t.Errorf("left over: %s", name)
		}
	}
}

// TestRepeat checks that a rerun does nothing, and with --overwrite makes the same.
func TestRepeat(t *testing.T) {
	inEachFormat(t, func(t *testing.T, f target) {
		input, dest := "../testdata/mail", filepath.Join(t.TempDir(), "out")
		run(t, f.convert(input, dest)...).want(t, 0)
		before := tree(t, dest)
		if p := run(t, f.convert("--json", input, dest)...).want(t, 0).report(t); !p.Result.Nothing {
			t.Error("the rerun did not report that there is nothing to do")
		}
		run(t, f.convert("--exit-nothing=99", input, dest)...).want(t, 99)
		option, _, _ := strings.Cut(strings.TrimPrefix(f.other, "--"), "=")
		run(t, f.convert(f.other, input, dest)...).want(t, 9).wantComplaint(t, option)
		wantSame(t, before, tree(t, dest))
		run(t, f.convert(f.other, "--overwrite", input, dest)...).want(t, 0)
		run(t, f.convert("--overwrite", input, dest)...).want(t, 0)
		wantSame(t, plain(t, before), plain(t, tree(t, dest)))
	})
}

// TestWorkers checks that any number of workers makes the same bytes.
func TestWorkers(t *testing.T) {
	inEachFormat(t, func(t *testing.T, f target) {
		input := mail(t, 20_000)
		var first map[string]string
		for _, workers := range []string{"1", "2", "8"} {
			dest := filepath.Join(t.TempDir(), "out")
			run(t, f.convert(f.rowGroups("1MiB", "4MiB"), "--workers", workers, input, dest)...).want(t, 0)
			if files := plain(t, tree(t, dest)); first == nil {
				first = files
			} else {
				wantSame(t, first, files)
			}
			run(t, "verify", dest, "--against", input).want(t, 0)
		}
	})
}
