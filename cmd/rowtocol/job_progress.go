package main

import (
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/job"
)

// ofJob shows the state of a conversion.
func ofJob(p *cli.Progress, s job.Progress) {
	p.Set(s.Rows, s.Bytes, s.TotalBytes)
	p.SetTasks(s.Tasks, s.TotalTasks)
}

// ofCluster shows the state of a conversion by a cluster, which reports the part of a job
// that is done, but not the number of tasks.
func ofCluster(p *cli.Progress, s job.Progress) { p.Set(s.Rows, s.Bytes, s.TotalBytes) }
