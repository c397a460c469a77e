package e2e

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// jvm is a Java program that starts on first use and answers one request after another. Its
// methods may be called concurrently.
type jvm struct {
	command func() (*exec.Cmd, error)

	mu       sync.Mutex // held during a request
	cmd      *exec.Cmd
	requests io.WriteCloser
	answers  *bufio.Reader
	stderr   bytes.Buffer
}

// start starts the program if it does not run. The caller holds j.mu.
func (j *jvm) start() error {
	if j.cmd != nil {
		return nil
	}
	cmd, err := j.command()
	if err != nil {
		return err
	}
	cmd.Stderr = &j.stderr
	requests, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	j.cmd, j.requests, j.answers = cmd, requests, bufio.NewReader(answers)
	return nil
}

// stop ends the program, if it runs.
func (j *jvm) stop() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.cmd != nil {
		_ = j.requests.Close()
		_ = j.cmd.Wait() // it has answered all requests
		j.cmd = nil
	}
}

// ask sends a request and returns the lines of the answer, which ends with an empty one.
func (j *jvm) ask(request string) (answer []string, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := j.start(); err != nil {
		return nil, err
	}
	sent := make(chan error, 1)
	go func() {
		_, err := io.WriteString(j.requests, request)
		sent <- err
	}()
	for {
		line, err := j.answers.ReadString('\n')
		if err != nil {
			_ = j.requests.Close() // this also ends the sending
			err = errors.Join(<-sent, err, j.cmd.Wait(), errors.New(j.stderr.String()))
			j.cmd = nil // the next request starts another one
			j.stderr.Reset()
			return nil, err
		}
		if line == "\n" {
			return answer, <-sent
		}
		answer = append(answer, strings.TrimSuffix(line, "\n"))
	}
}

var java = &javaOracle{}

// javaOracle is Java's Trevni.
type javaOracle struct {
	jvm
	script  string
	missing string // why it cannot run
}

// findJava builds the Java side, once for all tests.
func findJava() (*javaOracle, error) {
	script, err := filepath.Abs("java/run.sh")
	if err != nil {
		return nil, err
	}
	o := &javaOracle{script: script, missing: testenv.MissingTools("java", "mvn", "flock")}
	o.command = func() (*exec.Cmd, error) { return exec.Command(script, "serve"), nil }
	if o.missing == "" {
		if out, err := exec.Command(script, "compare", os.DevNull).CombinedOutput(); err != nil {
			o.missing = fmt.Sprintf("java/run.sh: %v: %s", err, bytes.TrimSpace(out))
		}
	}
	if o.missing != "" && required() {
		return o, errors.New("ROWTOCOL_E2E=required, but " + o.missing)
	}
	return o, nil
}

func needJava(t *testing.T) {
	t.Helper()
	if java.missing != "" {
		testenv.Skip(t, java.missing)
	}
}

// ask sends a command and the lines of its list, and returns the lines of the answer.
func (o *javaOracle) ask(command []string, list [][]string) (answer []string, err error) {
	var request strings.Builder
	for _, fields := range append([][]string{command}, list...) {
		request.WriteString(strings.Join(fields, "\t") + "\n")
	}
	request.WriteString("\n")
	return o.jvm.ask(request.String())
}

// verdict is a line that a list command of the Java side prints.
type verdict struct {
	pass   bool
	detail string
}

// list runs a list command of the Java side. Each line has the files of one job. The
// verdicts have the same order.
func (o *javaOracle) list(t *testing.T, lines [][]string, command ...string) []verdict {
	t.Helper()
	answer, err := o.ask(command, lines)
	if err != nil {
		t.Fatalf("java %s: %v", command, err)
	}
	if len(answer) != len(lines) {
		t.Fatalf("java %s: %d verdicts on %d lines\n%s", command, len(answer), len(lines), strings.Join(answer, "\n"))
	}
	verdicts := make([]verdict, len(answer))
	for i, line := range answer {
		f := strings.SplitN(line, "\t", 3)
		if len(f) != 3 {
			t.Fatalf("java %s: line %q", command, line)
		}
		verdicts[i] = verdict{pass: f[0] == "PASS", detail: f[2]}
	}
	return verdicts
}

// call runs a command of the Java side that must succeed, and returns its output.
func (o *javaOracle) call(t *testing.T, command ...string) []string {
	t.Helper()
	answer, err := o.ask(command, nil)
	if err != nil || len(answer) > 0 && strings.HasPrefix(answer[len(answer)-1], "ERROR\t") {
		t.Fatalf("java %s: %v\n%s", command, err, strings.Join(answer, "\n"))
	}
	return answer
}
