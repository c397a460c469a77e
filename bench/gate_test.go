//go:build !race

// The race detector slows Go down but not assembly, so ratios are measured without it.

package main

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/crc32"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/golang/snappy"

	"github.com/rowtocol/rowtocol/internal/datagen"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// ratiosFile has the CPU time of each stage of each set as a multiple of the yardstick's.
const ratiosFile = "testdata/ratios.json"

var update = flag.Bool("update", false, "rewrite "+ratiosFile)

const (
	// A stage may take margin times its committed ratio plus slack yardsticks, because
	// short stages are mostly noise.
	margin, slack = 1.6, 0.06
	// An attempt is the median of gateRounds rounds. A stage has regressed if it is too
	// slow in all gateAttempts, because noise does not last.
	gateRounds, gateAttempts = 5, 6
)

// TestGate compares the stages with their committed ratios.
// "go test -C bench -run Gate -update" measures these again.
func TestGate(t *testing.T) {
	sets := gateSets(t)
	if *update {
		writeRatios(t, bestOf(t, sets, func(map[string]float64) bool { return false }))
		return
	}
	committed := readRatios(t)
	best := bestOf(t, sets, func(best map[string]float64) bool { return len(tooSlow(best, committed)) == 0 })
	if slow := tooSlow(best, committed); len(slow) > 0 {
		t.Errorf("slower than %s allows, %d times in a row:\n%s", ratiosFile, gateAttempts, strings.Join(slow, "\n"))
	}
}

// TestGateFindsASlowStage repeats a stage three times: the gate must name it.
func TestGateFindsASlowStage(t *testing.T) {
	sets := gateSets(t)[:1]
	slower := slices.Clone(stages)
	i := slices.IndexFunc(slower, func(s stage) bool { return s.name == "shred" })
	slower[i].run = func(w *workload, c *clock) error {
		return errors.Join(w.shred(c), w.shred(c), w.shred(c))
	}
	var found []string
	for range gateAttempts {
		found = tooSlow(gateAttempt(t, sets, slower), gateAttempt(t, sets, stages))
		if slices.ContainsFunc(found, func(s string) bool { return strings.HasPrefix(s, "mail/shred:") }) {
			return
		}
	}
	t.Errorf("the shredder took three times as long, but these were found: %q", found)
}

func TestGateCompares(t *testing.T) {
	committed := map[string]float64{"mail/scan": 0.5, "mail/spill": 0.01}
	for _, c := range []struct {
		name     string
		measured map[string]float64
		want     []string
	}{
		{"equal", map[string]float64{"mail/scan": 0.5, "mail/spill": 0.01}, nil},
		{"within", map[string]float64{"mail/scan": 0.8, "mail/spill": 0.07}, nil},
		{"faster", map[string]float64{"mail/scan": 0.1, "mail/spill": 0}, nil},
		{"slow", map[string]float64{"mail/scan": 0.9, "mail/spill": 0.01}, []string{"mail/scan"}},
		{"both", map[string]float64{"mail/scan": 0.9, "mail/spill": 0.1}, []string{"mail/scan", "mail/spill"}},
		{"new", map[string]float64{"mail/scan": 0.5, "mail/spill": 0.01, "mail/sort": 0.1}, []string{"mail/sort"}},
		{"gone", map[string]float64{"mail/scan": 0.5}, []string{"mail/spill"}},
	} {
		found := tooSlow(c.measured, committed)
		ok := len(found) == len(c.want)
		for i := range c.want {
			ok = ok && strings.HasPrefix(found[i], c.want[i]+":")
		}
		if !ok {
			t.Errorf("%s: found %q, want %q", c.name, found, c.want)
		}
	}
}

// gateSet is a workload and its yardstick.
type gateSet struct {
	*workload
	name string
}

// gateDir returns a folder in memory, because the cost of a new file on a disk depends on
// recent removals there.
func gateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rowtocol-gate-")
	if err != nil {
		testenv.Skip(t, "there is no file system in memory: "+err.Error())
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// gateSets returns small and different sets: nested rows and wide ones.
func gateSets(t *testing.T) []gateSet {
	t.Helper()
	mail, err := datagen.Lookup("mail")
	testenv.Must(t, err)
	mail.Rows = 12_000
	var sets []gateSet
	for _, s := range []datagen.Set{mail, datagen.Flat(100, 12_000)} {
		dir := gateDir(t)
		input := filepath.Join(dir, "in.avro")
		if err := s.WriteFile(input, datagen.Options{Seed: 1, Codec: "snappy"}); err != nil {
			t.Fatal(err)
		}
		w, err := load(conversion{input: input, dir: dir, columns: "snappy"})
		testenv.Must(t, err)
		sets = append(sets, gateSet{w, s.Name})
	}
	return sets
}

// bestOf returns the least ratios of all attempts. It stops early once enough
// reports true.
func bestOf(t *testing.T, sets []gateSet, enough func(map[string]float64) bool) map[string]float64 {
	t.Helper()
	best := map[string]float64{}
	for range gateAttempts {
		for name, ratio := range gateAttempt(t, sets, stages) {
			if before, ok := best[name]; !ok || ratio < before {
				best[name] = ratio
			}
		}
		if enough(best) {
			break
		}
	}
	return best
}

// tooSlow returns the names of stages that exceed their committed ratio, or that only one
// side has.
func tooSlow(measured, committed map[string]float64) (slow []string) {
	for _, name := range slices.Sorted(maps.Keys(measured)) {
		want, ok := committed[name]
		if got := measured[name]; !ok || got > want*margin+slack {
			slow = append(slow, fmt.Sprintf("%s: %.3f of the yardstick, committed are %.3f", name, got, want))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(committed)) {
		if _, ok := measured[name]; !ok {
			slow = append(slow, name+": committed, but not measured")
		}
	}
	return slow
}

// gateAttempt returns the median ratios of the stages, and of a whole
// conversion, to the yardstick.
func gateAttempt(t *testing.T, sets []gateSet, stages []stage) map[string]float64 {
	t.Helper()
	whole := stage{"convert", func(w *workload, c *clock) error {
		_, err := w.run(c, w.writer())
		return err
	}}
	ratios := map[string]float64{}
	for _, set := range sets {
		all := append(slices.Clone(stages), whole)
		rounds := make([][]float64, gateRounds)
		for i := range rounds {
			runtime.GC()
			measure := set.yardstick(t)
			for _, s := range all {
				var c clock
				if err := s.run(set.workload, &c); err != nil {
					t.Fatalf("%s/%s: %v", set.name, s.name, err)
				}
				rounds[i] = append(rounds[i], c.cpu.Seconds()/measure)
			}
		}
		for i, s := range all {
			ratios[set.name+"/"+s.name] = median(rounds, func(r *[]float64) float64 { return (*r)[i] })
		}
	}
	return ratios
}

// yardstick returns the CPU seconds of a fixed amount of work on the set's bytes. It is the
// codec floor by calls of the libraries, not of the program, so it does not slow down with
// the program.
func (s gateSet) yardstick(t *testing.T) float64 {
	t.Helper()
	var c clock
	err := c.time(func() (err error) {
		var dst []byte
		for i := range s.stored {
			data := s.stored[i].Data
			data, sum := data[:len(data)-4], data[len(data)-4:]
			if dst, err = snappy.Decode(dst[:cap(dst)], data); err != nil {
				return err
			}
			if crc32.ChecksumIEEE(dst) != binary.BigEndian.Uint32(sum) {
				return fmt.Errorf("checksum of block %d", i)
			}
		}
		for _, g := range s.groups {
			for i := range g.blocks {
				raw := g.blocks[i].Data
				dst = snappy.Encode(dst[:cap(dst)], raw)
				_ = crc32.ChecksumIEEE(raw)
			}
		}
		return nil
	})
	testenv.Must(t, err)
	return c.cpu.Seconds()
}

func readRatios(t *testing.T) map[string]float64 {
	t.Helper()
	b, err := os.ReadFile(ratiosFile)
	testenv.Must(t, err)
	var ratios map[string]float64
	testenv.Must(t, json.Unmarshal(b, &ratios))
	return ratios
}

func writeRatios(t *testing.T, ratios map[string]float64) {
	t.Helper()
	for name, ratio := range ratios {
		ratios[name] = math.Round(ratio*1000) / 1000
	}
	b, err := json.MarshalIndent(ratios, "", "  ")
	if err == nil {
		err = os.WriteFile(ratiosFile, append(b, '\n'), 0o644)
	}
	testenv.Must(t, err)
}
