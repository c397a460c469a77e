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

	"github.com/rowtocol/rowtocol/e2e/maven"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// hfileHome is where Maven put the HFile code of HBase and Hudi, or why there is none.
var hfileHome = sync.OnceValues(func() (string, error) {
	if missing := testenv.MissingTools("java", "mvn"); missing != "" {
		return "", errors.New(missing)
	}
	target, err := filepath.Abs("hfile/target")
	if err != nil {
		return "", err
	}
	unlock, err := maven.Lock(target)
	if err != nil {
		return "", err
	}
	defer unlock()
	return target, maven.Build("hfile", target, []string{"classes"})
})

// hfileJudge is HBase's and Hudi's HFile code in a JVM that answers one request after
// another: see hfile/src/HFileOracle.java.
type hfileJudge struct {
	cmd      *exec.Cmd
	requests io.WriteCloser
	answers  *bufio.Reader
	stderr   bytes.Buffer
}

// newHFileJudge starts the JVM, which ends with the test.
func newHFileJudge(t *testing.T) *hfileJudge {
	t.Helper()
	home, err := hfileHome()
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	classpath, err := os.ReadFile(filepath.Join(home, "classpath"))
	must(t, err)
	j := &hfileJudge{cmd: exec.Command("java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", filepath.Join(home, "classes")+":"+strings.TrimSpace(string(classpath)), "HFileOracle")}
	j.cmd.Stderr = &j.stderr
	j.requests, err = j.cmd.StdinPipe()
	must(t, err)
	answers, err := j.cmd.StdoutPipe()
	must(t, err)
	must(t, j.cmd.Start())
	t.Cleanup(func() {
		_ = j.requests.Close()
		if err := j.cmd.Wait(); err != nil {
			t.Errorf("the judge: %v: %s", err, j.stderr.Bytes())
		}
	})
	j.answers = bufio.NewReader(answers)
	return j
}

// ask returns the fields of the lines that answer a request.
func (j *hfileJudge) ask(t *testing.T, request ...string) (lines [][]string) {
	t.Helper()
	if _, err := io.WriteString(j.requests, strings.Join(request, "\t")+"\n"); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := j.answers.ReadString('\n')
		if err != nil {
			t.Fatalf("the judge on %s: %v: %s", request[0], err, j.stderr.Bytes())
		}
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			return lines
		}
		if fields := strings.Split(line, "\t"); fields[0] != "ERROR" {
			lines = append(lines, fields)
		} else {
			lines = append(lines, []string{"ERROR", fmt.Sprint(fields[1:])})
		}
	}
}
