package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job/task"
)

// runChild runs the task for which a scheduler started the program, and returns the exit
// code. It ignores arguments, and settings in the environment.
func runChild(s scheduler, stderr *os.File) int {
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	err := s.RunTask(ctx, task.Environment{Formats: formats, Program: cli.Version()}, cli.ExitCode)
	if err != nil {
		_, _ = fmt.Fprintln(stderr, "rowtocol:", err)
	}
	return cli.ExitCode(err)
}
