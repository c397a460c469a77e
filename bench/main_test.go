package main

import (
	"testing"

	"github.com/rowtocol/rowtocol/internal/memlimit"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	memlimit.Main()
	goleak.VerifyTestMain(m)
}
