//go:build !race

package publish_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/publish/publishtest"
)

// TestPairs checks pairs of runs with faults. It is too slow for the race detector, under
// which TestThree checks the same runs.
func TestPairs(t *testing.T) {
	stride := soak.Rounds(109, 1)
	if testing.Short() {
		stride = 163
	}
	publishtest.Pairs(t, memory, stride)
}
