package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/rowtocol/rowtocol/e2e/maven"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// hfileHome returns the folder in which Maven put the HFile code of HBase and Hudi.
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

// hfileJudge is HBase's and Hudi's HFile code: see hfile/src/HFileOracle.java.
type hfileJudge struct{ jvm }

var theHFileJudge = &hfileJudge{jvm{command: func() (*exec.Cmd, error) {
	home, err := hfileHome()
	if err != nil {
		return nil, err
	}
	classpath, err := os.ReadFile(filepath.Join(home, "classpath"))
	return exec.Command("java", "-Xmx1g", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
		"-cp", filepath.Join(home, "classes")+":"+strings.TrimSpace(string(classpath)), "HFileOracle"), err
}}}

// needHFileJudge returns the judge, which the tests share.
func needHFileJudge(t *testing.T) *hfileJudge {
	t.Helper()
	if _, err := hfileHome(); err != nil {
		testenv.Skip(t, err.Error())
	}
	return theHFileJudge
}

// ask returns the fields of the lines that answer a request.
func (j *hfileJudge) ask(t *testing.T, request ...string) (lines [][]string) {
	t.Helper()
	answer, err := j.jvm.ask(strings.Join(request, "\t") + "\n")
	if err != nil {
		t.Fatalf("the judge on %s: %v", request[0], err)
	}
	for _, line := range answer {
		fields := strings.Split(line, "\t")
		if fields[0] == "ERROR" {
			fields = []string{"ERROR", fmt.Sprint(fields[1:])}
		}
		lines = append(lines, fields)
	}
	return lines
}
