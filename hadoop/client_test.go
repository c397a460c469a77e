package hadoop

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
)

// script writes a shell script.
func script(t *testing.T, dir, name, text string) string {
	t.Helper()
	file := filepath.Join(dir, name)
	testenv.Must(t, errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(file, []byte("#!/bin/sh\n"+text), 0o700)))
	return file
}

func TestFindClient(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"home/bin/mapred", "home/bin/yarn", "mr/bin/mapred", "yarn/bin/yarn", "path/mapred", "path/yarn"} {
		script(t, filepath.Dir(filepath.Join(dir, name)), filepath.Base(name), "")
	}
	for name, tt := range map[string]struct {
		env          map[string]string
		mapred, yarn string
		words        string
	}{
		"home":        {map[string]string{"HADOOP_HOME": dir + "/home", "HADOOP_MAPRED_HOME": dir + "/mr", "PATH": dir + "/path"}, "/home/bin/mapred", "/home/bin/yarn", ""},
		"two homes":   {map[string]string{"HADOOP_HOME": dir + "/none", "HADOOP_MAPRED_HOME": dir + "/mr", "HADOOP_YARN_HOME": dir + "/yarn"}, "/mr/bin/mapred", "/yarn/bin/yarn", ""},
		"path":        {map[string]string{"PATH": dir + "/path"}, "/path/mapred", "/path/yarn", ""},
		"only mapred": {map[string]string{"HADOOP_MAPRED_HOME": dir + "/mr"}, "", "", "no yarn in the folder bin of HADOOP_HOME or HADOOP_YARN_HOME"},
		"none":        {nil, "", "", "cannot find Hadoop's client on this machine: no mapred"},
	} {
		for _, key := range []string{"HADOOP_HOME", "HADOOP_MAPRED_HOME", "HADOOP_YARN_HOME", "PATH"} {
			t.Setenv(key, tt.env[key])
		}
		mapred, yarn, err := findClient()
		if tt.words != "" {
			if !errors.Is(err, failure.Usage) || !strings.Contains(err.Error(), tt.words) {
				t.Errorf("%s: got %v, want %q", name, err, tt.words)
			}
			continue
		}
		if err != nil || mapred != dir+tt.mapred || yarn != dir+tt.yarn {
			t.Errorf("%s: got %s and %s, %v", name, mapred, yarn, err)
		}
	}
}

func TestNew(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("HADOOP_HOME", dir)
	t.Setenv("HADOOP_CONF_DIR", dir)
	script(t, dir+"/bin", "mapred", "")
	script(t, dir+"/bin", "yarn", "")
	if e, err := New(Options{Properties: []string{"a=b"}}); err != nil || len(e.user) != 1 || e.exe == "" {
		t.Errorf("%v", err)
	}
	for name, o := range map[string]Options{"bad property": {Properties: []string{"x"}}, "bad queue": {Queue: "a\x00"}} {
		if _, err := New(o); !errors.Is(err, failure.Usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	t.Setenv("HADOOP_CONF_DIR", dir+"/none")
	if _, err := New(Options{}); !errors.Is(err, failure.Usage) {
		t.Errorf("no configuration: %v", err)
	}
}

func TestCommands(t *testing.T) {
	t.Setenv("ROWTOCOL_MEMORY", "1GiB")
	t.Setenv("KRB5CCNAME", "/c")
	c := &commands{environment()}
	run := func(text string, args ...string) (lines []string, err error) {
		t.Helper()
		err = c.run(t.Context(), func(l string) { lines = append(lines, l) }, script(t, t.TempDir(), "x", text), args...)
		return lines, err
	}
	lines, err := run(`echo "out $1"; echo "err" >&2; printf 'last\r\n\nno end'; exit 3`, "a b")
	if err == nil || err.Error() != "exit status 3" || !slices.Equal(lines, []string{"out a b", "err", "last", "", "no end"}) {
		t.Errorf("%q, %v", lines, err)
	}
	lines, err = run(`echo "$HADOOP_ROOT_LOGGER $ROWTOCOL_MEMORY $KRB5CCNAME"`)
	if err != nil || !slices.Equal(lines, []string{"INFO,console  /c"}) {
		t.Errorf("%q, %v", lines, err)
	}
	lines, err = run(`head -c 1000000 /dev/zero | tr '\0' x; echo; echo end`)
	if err != nil || len(lines) != 2 || len(lines[0]) != maxLine || lines[1] != "end" {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	// Run does not wait for processes that a command leaves running.
	began := time.Now()
	if lines, err = run(`sleep 20 & echo $!`); err != nil || len(lines) != 1 || time.Since(began) > 15*time.Second {
		t.Errorf("%q, %v after %v", lines, err, time.Since(began))
	} else if _, err := run("kill " + lines[0]); err != nil {
		t.Error(err)
	}
}

// runnerFunc is a runner that calls a function.
type runnerFunc func(ctx context.Context, line func(string)) error

func (r runnerFunc) run(ctx context.Context, line func(string), _ string, _ ...string) error {
	return r(ctx, line)
}

// TestAnswers checks that a request to the cluster fails if the answer hangs, and keeps only a
// part of an answer that is too long.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &client{log: slog.New(slog.DiscardHandler), patience: time.Hour, yarn: "yarn"}
		c.runner = runnerFunc(func(ctx context.Context, line func(string)) error {
			line("Total number of applications")
			<-ctx.Done()
			return ctx.Err()
		})
		began := time.Now()
		if _, err := c.find(t.Context(), "a"); !errors.Is(err, failure.Storage) || !strings.Contains(err.Error(), "printed nothing for 3m") || time.Since(began) != silenceLimit {
			t.Errorf("a command that hangs: got %v after %v", err, time.Since(began))
		}
		long := strings.Repeat("y", maxLine)
		for text, n := range map[string]int{long: maxAnswerBytes/maxLine + 100, "x": maxAnswerLines + 100} {
			c.runner = runnerFunc(func(_ context.Context, line func(string)) error {
				for range n {
					line(text)
				}
				return nil
			})
			lines, _, err := c.ask(t.Context())
			size := 0
			for _, l := range lines {
				size += len(l)
			}
			if err != nil || len(lines) == 0 || len(lines) > maxAnswerLines || size > maxAnswerBytes {
				t.Errorf("%.1s: %d lines, %d bytes, %v", text, len(lines), size, err)
			}
		}
	})
}

// TestStopCommand checks that the end of the context stops a command that obeys SIGTERM, and
// one that ignores it.
func TestStopCommand(t *testing.T) {
	for name, text := range map[string]string{"obeys": "echo go; exec sleep 60", "ignores": "trap '' TERM; echo go; while :; do sleep 0.1; done"} {
		ctx, cancel := context.WithCancel(t.Context())
		began := time.Now()
		err := (&commands{os.Environ()}).run(ctx, func(string) { cancel() }, script(t, t.TempDir(), "x", text))
		if took := time.Since(began); err == nil || took > stopGrace+5*time.Second {
			t.Errorf("%s: %v after %v", name, err, took)
		}
	}
}
