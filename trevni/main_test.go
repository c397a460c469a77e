package trevni

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	verifyRange = 2000 // so that columns have several ranges
	goleak.VerifyTestMain(m)
}
