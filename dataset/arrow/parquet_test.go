package arrow

import (
	"math"
	"testing"
)

// Row groups and pages are as large as memory allows, within bounds. Half of it is
// left for reading if the least sizes fit into the other half.
func TestParquetMemory(t *testing.T) {
	const kib, mib = 1 << 10, 1 << 20
	for _, test := range []struct {
		left              int64
		columns           int
		group, page, need int64
	}{
		{math.MaxInt64, 1, 128 * mib, 128 * kib, 256*mib + 832*kib},
		{math.MaxInt64, 10_000, 128 * mib, 128 * kib, 256*mib + 10_000*832*kib},
		{2048 * mib, 100, 128 * mib, 128 * kib, 256*mib + 100*832*kib},
		{1024 * mib, 1000, 44105728, 30244, 536867456},
		{512 * mib, 0, 64 * mib, 128 * kib, 128 * mib},
		{512 * mib, 256, 42 * mib, 92 * kib, 256 * mib},
		{64 * mib, 1, 8 * mib, 128 * kib, 16*mib + 832*kib},
		{64 * mib, 32, 8 * mib, 48 * kib, 32 * mib},
		{16 * mib, 1, 8 * mib, 8 * kib, 16*mib + 352*kib},
		{0, 3, 8 * mib, 8 * kib, 16*mib + 3*352*kib},
	} {
		group, page, need := parquetMemory(test.left, test.columns)
		if group != test.group || page != test.page || need != test.need {
			t.Errorf("%d columns in %d bytes: row groups of %d, pages of %d, need %d; want %d, %d and %d",
				test.columns, test.left, group, page, need, test.group, test.page, test.need)
		}
	}
}

// TestParquetNeedSuffices has as much memory as an earlier call has returned as its need.
func TestParquetNeedSuffices(t *testing.T) {
	for _, columns := range []int{1, 100, 500, 2000} {
		_, _, need := parquetMemory(1<<20, columns)
		if _, _, then := parquetMemory(need, columns); then > need {
			t.Errorf("%d columns need %d bytes, but %d if there are that many", columns, need, then)
		}
	}
}
