package main

import (
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
)

// showProgress shows the state of a conversion.
func showProgress(p *cli.Progress, s job.Progress) {
	p.Set(s.Rows, s.Bytes, s.TotalBytes)
	p.SetTasks(s.Tasks, s.TotalTasks)
	p.SetWaiting(s.Waiting)
}
