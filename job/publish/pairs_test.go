//go:build !race

package publish_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/publish/publishtest"
)

// TestPairs is too much for the race detector, which has TestThree of the same runs.
func TestPairs(t *testing.T) {
	stride := soak.Rounds(109, 1)
	if testing.Short() {
		stride = 163
	}
	publishtest.Pairs(t, memory, stride)
}
