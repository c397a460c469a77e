package manifest

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// TestPending checks the staged names of an output's files and directories.
func TestPending(t *testing.T) {
	p := NewPending(samplePlan(t), output, []*TaskResult{sampleResult(), lastResult()})
	b, err := p.Encode()
	testenv.Must(t, err)
	got, err := DecodePending(b)
	if err != nil || !slices.Equal(got.Staged, p.Staged) || got.ID != output {
		t.Fatalf("%+v, %v", got, err)
	}
	var staged []Entry
	for _, r := range []*TaskResult{sampleResult(), lastResult()} {
		for _, e := range r.Entries() {
			if SideName(e.Name) == "" {
				staged = append(staged, e)
			}
		}
	}
	for i, e := range got.StagedEntries() {
		if want := staged[i]; e.Name != want.Name || e.Dir != want.Dir || e.Files[len(e.Files)-1].Name != want.Files[len(e.Files)-1].Name || e.Files[0].CRC32C != want.Files[0].CRC32C {
			t.Errorf("entry %d is %+v, want %+v", i, e, want)
		}
	}
	for name, change := range map[string]func(p *Pending){
		"no names":       func(p *Pending) { p.Staged = nil },
		"one name less":  func(p *Pending) { p.Staged = p.Staged[1:] },
		"another task":   func(p *Pending) { p.Staged[0] = StagedPart(9, 0, attempt, ".trv") },
		"another suffix": func(p *Pending) { p.Staged[0] = StagedPart(3, 0, attempt, ".hfile") },
		"no staged name": func(p *Pending) { p.Staged[0] = "x" },
		"outside":        func(p *Pending) { p.Staged[2] = strings.Replace(p.Staged[2], "00000-", "x/../00000-", 1) },
		"another output": func(p *Pending) { p.ID = attempt },
		"keeps for less": func(p *Pending) { p.KeepSeconds = -1 },
	} {
		p, err := DecodePending(b)
		testenv.Must(t, err)
		change(p)
		changed, err := p.Encode()
		testenv.Must(t, err)
		if _, err := DecodePending(changed); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestPendingOfOlderProgram checks that a run completes an output whose staged parts an older
// program named: otherwise the output that it replaces would be lost with it.
func TestPendingOfOlderProgram(t *testing.T) {
	p := NewPending(samplePlan(t), output, []*TaskResult{sampleResult(), lastResult()})
	p.Staged[0] = PartName(3, 0, attempt, ".trv")
	b, err := p.Encode()
	testenv.Must(t, err)
	got, err := DecodePending(b)
	testenv.Must(t, err)
	if e := got.StagedEntries()[0]; e.Name != p.Staged[0] {
		t.Errorf("the first part is in %s, want %s", e.Name, p.Staged[0])
	}
}
