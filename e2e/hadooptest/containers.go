package hadooptest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Process is a process that runs in a container.
type Process struct {
	PID       int
	Container string   // its ID
	Args      []string // the command line, program included

	env []string
}

// Master reports whether p is the Java process of a MapReduce application master.
func (p Process) Master() bool {
	return p.java() && strings.Contains(strings.Join(p.Args, " "), ".MRAppMaster")
}

// MapTask returns the attempt whose Java process p is, or "".
func (p Process) MapTask() string {
	for i, arg := range p.Args {
		if arg == "org.apache.hadoop.mapred.YarnChild" && p.java() && i+3 < len(p.Args) {
			return p.Args[i+3] // after host and port of the master
		}
	}
	return ""
}

// Child reports whether p is the program that Pipes started, and neither Java nor the shell
// that starts it.
func (p Process) Child() bool {
	if p.java() || len(p.Args) > 1 && p.Args[1] == "-c" {
		return false
	}
	for _, e := range p.env {
		// Older Hadoop has dots in the name.
		if strings.HasPrefix(strings.ReplaceAll(e, ".", "_"), "mapreduce_pipes_command_port=") {
			return true
		}
	}
	return false
}

func (p Process) java() bool { return len(p.Args) > 0 && filepath.Base(p.Args[0]) == "java" }

func (p Process) String() string {
	line := strings.Join(p.Args, " ")
	return fmt.Sprintf("%d in %s: %s", p.PID, p.Container, line[:min(len(line), 200)])
}

// Processes returns the processes in the cluster's containers, even if no node manager knows
// them any more.
func (c *Cluster) Processes() ([]Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, err
	}
	var all []Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not a process
		}
		if p, ok := c.process(pid); ok {
			all = append(all, p)
		}
	}
	return all, nil
}

// process describes a process, which may end meanwhile.
func (c *Cluster) process(pid int) (Process, bool) {
	dir := fmt.Sprintf("/proc/%d/", pid)
	works, err := os.Readlink(dir + "cwd")
	if err != nil || !strings.HasPrefix(works, c.containers()+"/") {
		return Process{}, false
	}
	args, err := os.ReadFile(dir + "cmdline")
	if err != nil || len(args) == 0 {
		return Process{}, false
	}
	env, err := os.ReadFile(dir + "environ")
	if err != nil {
		return Process{}, false
	}
	p := Process{PID: pid, Args: words(args), env: words(env)}
	for _, e := range p.env {
		if id, ok := strings.CutPrefix(e, "CONTAINER_ID="); ok {
			p.Container = id
		}
	}
	return p, true
}

// words returns strings that each end with a zero byte.
func words(b []byte) []string {
	return strings.Split(string(bytes.TrimSuffix(b, []byte{0})), "\x00")
}
