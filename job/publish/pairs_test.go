//go:build !race

package publish_test

import (
	"testing"

	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/publish/publishtest"
)

// TestPairs is too slow for the race detector. TestThree does the same runs under it.
func TestPairs(t *testing.T) {
	stride := soak.Rounds(109, 1)
	if testing.Short() {
		stride = 163
	}
	publishtest.Pairs(t, memory, stride)
}
