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

// group is a cgroup; the zero value is none.
type group struct {
	dir   string
	procs string // the file that takes the numbers of its processes
	kills string // the file that counts kills
}

// Limits says why no cgroup with a memory limit can be made here; nil if one can.
var Limits = sync.OnceValue(func() error {
	g, err := newGroup(64 << 20)
	if err == nil {
		g.remove()
	}
	return err
})

// newGroup makes a group below that of this process, of the first or the second
// version of cgroups.
func newGroup(limit int64) (*group, error) {
	parent, second, err := ownGroup()
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
	if second {
		g.kills = filepath.Join(g.dir, "memory.events")
		limits, values = []string{"memory.max", "memory.swap.max"}, []int64{limit, 0}
	}
	for i, name := range limits {
		file := filepath.Join(g.dir, name)
		if _, err := os.Stat(file); i > 0 && errors.Is(err, os.ErrNotExist) {
			continue // without swap there is no limit of it
		}
		if err := os.WriteFile(file, number(values[i]), 0); err != nil {
			g.remove()
			return nil, err
		}
	}
	return g, nil
}

// ownGroup is the directory of the cgroup for memory that this process is in.
func ownGroup() (dir string, second bool, err error) {
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

// killed reports whether the kernel killed a process of the group for want of
// memory.
func (g *group) killed() bool {
	counts, _ := os.ReadFile(g.kills) // without a group there is none
	for line := range strings.Lines(string(counts)) {
		if name, n, _ := strings.Cut(strings.TrimSpace(line), " "); name == "oom_kill" && n != "0" {
			return true
		}
	}
	return false
}

// remove removes the group, which has no processes any more.
func (g *group) remove() { _ = os.Remove(g.dir) }
