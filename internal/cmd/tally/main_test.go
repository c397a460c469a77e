package main

import (
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const recording = `{"Action":"run","Package":"x/a","Test":"TestGood"}
{"Action":"output","Package":"x/a","Test":"TestGood","Output":"    a_test.go:1: set up\n"}
{"Action":"pass","Package":"x/a","Test":"TestGood"}
{"Action":"output","Package":"x/a","Test":"TestLater","Output":"    a_test.go:2: it is for the soak\n"}
{"Action":"skip","Package":"x/a","Test":"TestLater"}
{"Action":"output","Package":"x/a","Test":"TestLatest","Output":"    a_test.go:9: it is for the soak\n"}
{"Action":"skip","Package":"x/a","Test":"TestLatest"}
{"Action":"skip","Package":"x/a","Test":"TestSilent"}
{"Action":"pass","Package":"x/a"}
{"Action":"skip","Package":"x/empty"}
`

func TestTally(t *testing.T) {
	const skips = "skipped: no reason given (a TestSilent)\nskipped: it is for the soak (a TestLater, a TestLatest)\n"
	for _, c := range []struct {
		name, more string
		status     int
		want       string
		good       bool
	}{
		{"all good", "", 0, skips + "1 passed, 0 failed, 3 skipped\n", true},
		{
			"a test failed", `{"Action":"fail","Package":"x/b","Test":"TestBad"}` + "\n" + `{"Action":"fail","Package":"x/b"}`, 1,
			skips + "failed: b TestBad\n1 passed, 1 failed, 3 skipped\n", false,
		},
		{"a package failed", `{"Action":"fail","Package":"x/b"}`, 1, skips + "failed: b\n1 passed, 1 failed, 3 skipped\n", false},
		{"another part failed", "", 2, skips + "failed: a part outside of the tests, see above\n1 passed, 1 failed, 3 skipped\n", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := newTally()
			testenv.Must(t, all.add(strings.NewReader(recording+c.more)))
			var out strings.Builder
			if good := all.print(&out, c.status); good != c.good || out.String() != c.want {
				t.Errorf("got %v\n%s\nwant %v\n%s", good, &out, c.good, c.want)
			}
		})
	}
}

func TestTallyNamesFewOfMany(t *testing.T) {
	all := newTally()
	all.skipped["no Java"] = []string{"a", "b", "c", "d", "e"}
	var out strings.Builder
	if all.print(&out, 0); !strings.Contains(out.String(), "skipped: no Java (a, b, c and 2 more)\n0 passed, 0 failed, 5 skipped\n") {
		t.Error(out.String())
	}
}

func TestTallyRejectsTruncatedRecording(t *testing.T) {
	if err := newTally().add(strings.NewReader(recording[:len(recording)-5])); err == nil {
		t.Error("no error for half a line")
	}
}
