package main

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"github.com/rowtocol/rowtocol/internal/memlimit"
)

// usage has the resources that a process used.
type usage = memlimit.Usage

// measure runs a command and returns its usage. files, if not 0, is the maximum of files
// that the command may open.
func measure(env []string, files int, command ...string) (usage, error) {
	if files > 0 {
		limit := []string{"/bin/sh", "-c", `ulimit -n "$0" && exec "$@"`, strconv.Itoa(files)}
		command = append(limit, command...)
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stderr = append(os.Environ(), env...), os.Stderr
	u, err := memlimit.Run(cmd, 0)
	if err == nil && u.Exit != 0 {
		err = fmt.Errorf("%q: exit %d", command, u.Exit)
	}
	return u, err
}
