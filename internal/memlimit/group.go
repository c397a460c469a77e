package memlimit

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// group is a cgroup. The zero value stands for no cgroup.
type group struct {
	dir   string
	procs string // file to which the IDs of the group's processes are written
	kills string // file that counts kills
}

// Supported returns an error if this machine cannot make a cgroup with a memory limit.
var Supported = sync.OnceValue(func() error {
	g, err := newGroup(64 << 20)
	if err == nil {
		g.remove()
	}
	return err
})

// newGroup makes a group below the group of this process, of version 1 or 2 of cgroups.
func newGroup(limit int64) (*group, error) {
	parent, v2, err := ownGroup()
	if err != nil {
		return nil, err
	}
	g := &group{}
	if g.dir, err = os.MkdirTemp(parent, "rowtocol-"); err != nil {
		return nil, err
	}
	g.procs, g.kills = filepath.Join(g.dir, "cgroup.procs"), filepath.Join(g.dir, "memory.oom_control")
	limits := []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"} // of memory, and with swap
	values := []int64{limit, limit}
	if v2 {
		g.kills = filepath.Join(g.dir, "memory.events")
		limits, values = []string{"memory.max", "memory.swap.max"}, []int64{limit, 0}
	}
	for i, name := range limits {
		file := filepath.Join(g.dir, name)
		if _, err := os.Stat(file); i > 0 && errors.Is(err, os.ErrNotExist) {
			continue // the kernel has no swap
		}
		if err := os.WriteFile(file, formatInt(values[i]), 0); err != nil {
			g.remove()
			return nil, err
		}
	}
	return g, nil
}

// ownGroup returns the directory of the memory cgroup of this process.
func ownGroup() (dir string, v2 bool, err error) {
	f, err := os.Open("/proc/self/cgroup")
	if err != nil {
		return "", false, err
	}
	defer func() { _ = f.Close() }() // only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		controllers, path, _ := strings.Cut(lines.Text()[strings.IndexByte(lines.Text(), ':')+1:], ":")
		switch controllers {
		case "memory":
			return filepath.Join("/sys/fs/cgroup/memory", path), false, nil
		case "":
			dir = filepath.Join("/sys/fs/cgroup", path)
		}
	}
	if dir == "" {
		return "", false, fmt.Errorf("this process is in no cgroup")
	}
	return dir, true, nil
}

// killed reports whether the kernel killed a process of the group because it was out of
// memory.
func (g *group) killed() bool {
	counts, _ := os.ReadFile(g.kills) // empty without a group
	for line := range strings.Lines(string(counts)) {
		if name, n, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" && n != "0" {
			return true
		}
	}
	return false
}

// remove removes the group, whose processes have ended.
func (g *group) remove() { _ = os.Remove(g.dir) }
