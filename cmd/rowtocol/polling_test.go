package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/export"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// rowsPerInput is the number of rows of each input, which make several parts.
const rowsPerInput = 60

// partitionHistory records the states of one partition. A state is the contents of its inputs.
// Each content has its own number, which is in its rows. The state that a run makes is recorded
// before the run starts, because a reader may see it before the run has ended.
type partitionHistory struct {
	name   string
	inputs map[string]int // the files in the source → their content
	states []string       // the past states, and that of a run under way
	done   int            // how many states the destination has certainly reached
	kept   map[string]int // the inputs of the last state → their content
}

// pollTest is a destination of partitions that runs change while others read it.
type pollTest struct {
	dir     string
	t       *testing.T
	mu      sync.Mutex
	parts   []*partitionHistory
	next    int
	stopped atomic.Bool
}

// stateOf returns the state with these contents.
func stateOf(contents []int) string { return fmt.Sprint(slices.Sorted(slices.Values(contents))) }

// put writes an input of new content.
func (p *pollTest) put(h *partitionHistory, name string) {
	p.next++
	writePairs(p.t, p.dir, filepath.Join("src", h.name, name), p.next*1000, rowsPerInput)
	h.inputs[name] = p.next
}

// run runs the program, which gives these partitions the state of their sources.
func (p *pollTest) run(parts []*partitionHistory, args ...string) {
	p.mu.Lock()
	for _, h := range parts {
		h.kept = maps.Clone(h.inputs)
		h.states = append(h.states, stateOf(slices.Collect(maps.Values(h.kept))))
	}
	p.mu.Unlock()
	args = append([]string{"convert", "--row-group-size", "2KiB", "--block-size", "256"}, args...)
	rowtocol(p.t, p.dir, nil, args...).want(p.t, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, h := range parts {
		h.done = len(h.states)
	}
}

// write changes the destination by a number of runs, of each kind in turn.
func (p *pollTest) write(runs int) {
	for i := range runs {
		h := p.parts[i%len(p.parts)]
		src, dest := "src/"+h.name, "dest/"+h.name
		late := fmt.Sprintf("late%d", i)
		switch i % 5 {
		case 0, 2:
			p.put(h, late)
			p.run([]*partitionHistory{h}, "--incremental", src, dest)
		case 1:
			for _, h := range p.parts {
				p.put(h, late)
			}
			p.run(p.parts, "--partitioned", "src", "dest")
		case 3: // all contents change
			for _, h := range p.parts {
				for name := range h.inputs {
					p.put(h, name)
				}
			}
			p.run(p.parts, "--partitioned", "--reprocess", "src", "dest")
		case 4: // some inputs are removed
			for name := range h.inputs {
				if len(h.inputs) > 1 && name != late {
					delete(h.inputs, name)
					if err := os.Remove(filepath.Join(p.dir, src, name)); err != nil {
						p.t.Error(err)
					}
				}
			}
			p.run([]*partitionHistory{h}, "--overwrite", src, dest)
		}
		if p.t.Failed() {
			return
		}
	}
}

// reached returns the number of states that each partition has reached.
func (p *pollTest) reached() []int {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := make([]int, len(p.parts))
	for i, h := range p.parts {
		all[i] = h.done
	}
	return all
}

// check checks rows that were read from a partition: they must be all rows of one state that
// it had at or after since, each once.
func (p *pollTest) check(reader string, part, since int, rows []int) {
	count := make(map[int]int)
	for _, id := range rows {
		count[id]++
	}
	byContent := make(map[int]int)
	for id, n := range count {
		byContent[id/1000]++
		if n > 1 {
			p.t.Errorf("%s: row %d of %s is there %d times", reader, id, p.parts[part].name, n)
		}
	}
	for content, n := range byContent {
		if n != rowsPerInput {
			p.t.Errorf("%s: content %d of %s has %d rows", reader, content, p.parts[part].name, n)
		}
	}
	got := stateOf(slices.Collect(maps.Keys(byContent)))
	p.mu.Lock()
	defer p.mu.Unlock()
	h := p.parts[part]
	if !slices.Contains(h.states[max(since-1, 0):], got) {
		p.t.Errorf("%s: %s has the state %s, want one of %v from %d on", reader, h.name, got, h.states, since)
	}
}

// catReader reads all partitions with the program.
func (p *pollTest) catReader() (read bool) {
	since := p.reached()
	o := rowtocol(p.t, p.dir, nil, "cat", "--columns", "id,k", "dest")
	if o.code == 4 {
		return false
	}
	o.want(p.t, 0)
	rows := make([][]int, len(p.parts))
	for line := range strings.Lines(o.stdout) {
		var row struct{ ID, K int }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			p.t.Errorf("%v: %s", err, line)
			return false
		}
		rows[row.K] = append(rows[row.K], row.ID)
	}
	for i := range p.parts {
		p.check("cat", i, since[i], rows[i])
	}
	return true
}

// countReader counts the rows of one partition with the program.
func (p *pollTest) countReader() (read bool) {
	since := p.reached()
	o := rowtocol(p.t, p.dir, nil, "count", "dest/k=0")
	if o.code == 4 {
		return false
	}
	o.want(p.t, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	var counts []string
	for _, state := range p.parts[0].states[max(since[0]-1, 0):] {
		counts = append(counts, fmt.Sprint(rowsPerInput*len(strings.Fields(state))))
	}
	if !slices.Contains(counts, strings.TrimSpace(o.stdout)) {
		p.t.Errorf("count: %s, want one of %v", o.stdout, counts)
	}
	return true
}

// consumer reads a partition without rowtocol, as the documents describe it: it waits for
// _SUCCESS, takes the increments that name its ID, reads the listed files, and begins again
// if the output was replaced meanwhile.
func (p *pollTest) consumer(part int) (read bool) {
	since := p.reached()[part]
	dir := filepath.Join(p.dir, "dest", p.parts[part].name)
	outputs, err := consumerList(dir)
	if err != nil {
		p.t.Errorf("consumer: %v", err)
	}
	if len(outputs) == 0 {
		return false
	}
	copied := p.t.TempDir()
	var names []store.Location
	for where, s := range outputs {
		for _, part := range s.Parts {
			for _, file := range part.Files {
				b, err := os.ReadFile(filepath.Join(where, file.Name))
				if errors.Is(err, fs.ErrNotExist) {
					if now, err := readManifest(where); err == nil && now != nil && now.ID == s.ID {
						p.t.Errorf("consumer: %s lists %s, which does not exist", where, file.Name)
					}
					return false
				}
				if err != nil || int64(len(b)) != file.Bytes {
					p.t.Errorf("consumer: %s: %d bytes, %v", file.Name, len(b), err)
				}
				to := filepath.Join(copied, file.Name)
				write(p.t, to, b)
				names = append(names, store.Location{Store: store.Local(), Path: to})
			}
		}
	}
	p.check("consumer", part, since, idsOf(p.t, names))
	return true
}

// readManifest returns the _SUCCESS of a directory, or nil if there is none.
func readManifest(dir string) (*manifest.Success, error) {
	doc, err := os.ReadFile(filepath.Join(dir, "_SUCCESS"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s := &manifest.Success{}
	return s, json.Unmarshal(doc, s)
}

// consumerList returns the manifests of the output in a directory and of its increments, by
// directory, or none if the output is being replaced.
func consumerList(dir string) (map[string]*manifest.Success, error) {
	top, err := readManifest(dir)
	if top == nil || err != nil {
		return nil, err
	}
	outputs := map[string]*manifest.Success{dir: top}
	runs, err := filepath.Glob(filepath.Join(dir, "increment-*"))
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		s, err := readManifest(run)
		if err != nil {
			return nil, err
		}
		if s != nil && s.Base == top.ID {
			outputs[run] = s
		}
	}
	if again, err := readManifest(dir); err != nil || again == nil || again.ID != top.ID {
		return nil, err
	}
	return outputs, nil
}

// idsOf returns the IDs of the rows in column files.
func idsOf(t *testing.T, names []store.Location) (ids []int) {
	d, err := dataset.Open(t.Context(), names, dataset.Options{Formats: formats, Keyless: true})
	if err != nil {
		t.Error(err)
		return nil
	}
	s, err := d.Scan(t.Context(), dataset.Query{Columns: []string{"id"}, Limit: -1})
	if err != nil {
		t.Error(err)
		return nil
	}
	defer s.Close()
	var b bytes.Buffer
	w, err := export.NewWriter(&b, export.JSON(s.Schema(), export.JSONOptions{}))
	if err != nil {
		t.Error(err)
		return nil
	}
	for {
		row, err := s.Next(nil)
		if err != nil {
			break
		}
		if err := w.Write(row); err != nil {
			t.Error(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(b.String()) {
		var row struct{ ID int }
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Error(err)
		}
		ids = append(ids, row.ID)
	}
	return ids
}

// poll calls read until all runs have ended, and once after that.
func (p *pollTest) poll(wg *sync.WaitGroup, reads *atomic.Int64, read func() bool) {
	wg.Go(func() {
		for last := false; !last && !p.t.Failed(); {
			last = p.stopped.Load()
			if read() {
				reads.Add(1)
			} else if last {
				p.t.Error("nothing was read after the last run")
			}
		}
	})
}

// TestPollingReaders reads a destination continuously while runs of every kind change it. Each
// read must give all rows of one state, each once.
func TestPollingReaders(t *testing.T) {
	p := &pollTest{dir: t.TempDir(), t: t}
	for i := range 2 {
		p.parts = append(p.parts, &partitionHistory{name: fmt.Sprintf("k=%d", i), inputs: map[string]int{}})
		p.put(p.parts[i], "first")
	}
	p.run(p.parts, "--partitioned", "src", "dest")
	var wg sync.WaitGroup
	reads := make([]atomic.Int64, 4)
	p.poll(&wg, &reads[0], p.catReader)
	p.poll(&wg, &reads[1], p.countReader)
	p.poll(&wg, &reads[2], func() bool { return p.consumer(0) })
	p.poll(&wg, &reads[3], func() bool { return p.consumer(1) })
	p.write(soak.Rounds(10, 50))
	p.stopped.Store(true)
	wg.Wait()
	for i := range reads {
		if n := reads[i].Load(); n < 2 {
			t.Errorf("reader %d read only %d times", i, n)
		}
	}
	t.Logf("%d, %d, %d and %d times read", reads[0].Load(), reads[1].Load(), reads[2].Load(), reads[3].Load())
}
