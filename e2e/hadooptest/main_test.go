package hadooptest

import (
	"fmt"
	"os"
	"testing"

	"github.com/rowtocol/rowtocol/internal/supervise"
)

func TestMain(m *testing.M) {
	code, err := supervise.Tests(func() (int, error) { return m.Run(), nil })
	if err != nil {
		fmt.Fprintln(os.Stderr, "hadooptest:", err)
		code = 1
	}
	os.Exit(code)
}
