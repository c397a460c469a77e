package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/rowtocol/rowtocol/e2e/maven"
	"github.com/rowtocol/rowtocol/hfile"
)

// java runs HBase's code with the program that judges files in the end-to-end tests.
type java struct{ classPath string }

// buildJava has Maven build that program, whose pom is in home.
func buildJava(home string) (*java, error) {
	target, err := filepath.Abs(filepath.Join(home, "target"))
	if err != nil {
		return nil, err
	}
	unlock, err := maven.Lock(target)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := maven.Build(home, target, []string{"classes"}); err != nil {
		return nil, err
	}
	libraries, err := os.ReadFile(filepath.Join(target, "classpath"))
	if err != nil {
		return nil, err
	}
	return &java{classPath: filepath.Join(target, "classes") + ":" + strings.TrimSpace(string(libraries))}, nil
}

// write has HBase write a file in several passes.
func (j *java) write(path string, codec hfile.Codec, cells, passes int) ([]pass, error) {
	return j.run(passes, fmt.Sprintf("time\twrite\t%s\t%s\t%d\t%d\n", codec, path, cells, passes))
}

// scan has HBase scan a file in several passes.
func (j *java) scan(path string, codec hfile.Codec, cells, passes int) ([]pass, error) {
	return j.run(passes, fmt.Sprintf("time\thbase\t%s\t%s\t%d\t%d\n", codec, path, cells, passes))
}

// run sends a request to a new virtual machine, and returns its passes.
func (j *java) run(passes int, request string) ([]pass, error) {
	cmd := exec.Command("java", "-Xmx1g", "-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", j.classPath, "HFileOracle")
	cmd.Stdin, cmd.Stderr = strings.NewReader(request), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("java: %w", err)
	}
	all := make([]pass, 0, passes)
	for line := range strings.Lines(strings.TrimSpace(string(out))) {
		var p pass
		if _, err := fmt.Sscan(line, &p.cpu, &p.cells, &p.bytes); err != nil {
			return nil, fmt.Errorf("java answers %q: %w", line, err)
		}
		all = append(all, p)
	}
	return all, nil
}
