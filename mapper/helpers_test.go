package mapper_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/trevni"
)

// A helper does half of the jobs of a task with one worker. When the task ends, the helper helps
// the next task.
func TestHelpers(t *testing.T) {
	rows := mail(t, 2000)
	for _, free := range []int{0, 1, 3} {
		runSynctest(t, fmt.Sprint(free), func(t *testing.T) {
			helpers := mapper.NewHelpers(3)
			helpers.Add(free)
			for range 3 {
				f := &faulty{ColumnWriter: trevni.NewGroupWriter(trevni.Options{}), at: -1, others: time.Second}
				src := source(t, "in.avro", rows)
				cfg := config(t, src, f)
				cfg.Workers, cfg.Helpers = 1, helpers
				began := time.Now()
				_, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, drop)
				testenv.Must(t, err)
				jobs := time.Duration(f.begun)
				if took := time.Since(began) / time.Second; jobs < 40 || took < jobs/time.Duration(free+1) || took > jobs/time.Duration(free+1)*5/4+2 {
					t.Errorf("%d jobs of a second take %d seconds", jobs, took)
				}
			}
		})
	}
}
