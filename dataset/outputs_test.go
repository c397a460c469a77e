package dataset_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// outputID returns the ID of the output in a directory, empty if there is none.
func outputID(t *testing.T, dir string) string {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, manifest.SuccessName)); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return successOf(t, dir).ID
}

// successOf reads the manifest in a directory.
func successOf(t *testing.T, dir string) *manifest.Success {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, manifest.SuccessName))
	testenv.Must(t, err)
	s, err := manifest.DecodeSuccess(text)
	testenv.Must(t, err)
	return s
}

// growIncrement makes an increment of one row to the output in a directory.
func (p *forest) growIncrement(dir string, sequence int64) (increment string) {
	p.t.Helper()
	p.grow(1, "made")
	return addIncrement(p.t, filepath.Join(p.root, dir), filepath.Join(p.root, "made"), sequence)
}

// addIncrement moves an output into a directory as an increment to the output there.
func addIncrement(t *testing.T, dir, made string, sequence int64) (increment string) {
	t.Helper()
	s := successOf(t, made)
	s.Increment, s.Base, s.Sequence = true, outputID(t, dir), sequence
	writeSuccess(t, made, s)
	increment = filepath.Join(dir, manifest.IncrementName(sequence, s.ID))
	testenv.Must(t, errors.Join(os.MkdirAll(dir, 0o777), os.Rename(made, increment)))
	return increment
}

// replace replaces the output in a directory by one of one row. The increments stay, as
// they do for a moment in a real replacement.
func (p *forest) replace(dir string) {
	p.t.Helper()
	p.grow(1, "made")
	s := successOf(p.t, filepath.Join(p.root, "made"))
	s.Sequence = 100
	writeSuccess(p.t, filepath.Join(p.root, "made"), s)
	dir = filepath.Join(p.root, dir)
	for _, d := range []string{"_SUCCESS", "part-*"} {
		found, err := filepath.Glob(filepath.Join(dir, d))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, name := range found {
			remove(p.t, dir, filepath.Base(name))
		}
	}
	found, err := filepath.Glob(filepath.Join(p.root, "made", "*"))
	if err != nil {
		p.t.Fatal(err)
	}
	for _, name := range found {
		if err := os.Rename(name, filepath.Join(dir, filepath.Base(name))); err != nil {
			p.t.Fatal(err)
		}
	}
	remove(p.t, p.root, "made")
}

// ids returns the lines of rows with these numbers.
func ids(numbers ...int) string {
	var all []string
	for _, n := range numbers {
		all = append(all, fmt.Sprintf(`{"id":%d}`, n))
	}
	return strings.Join(all, " ")
}

// TestIncrementsCountWithTheirBase reads an output together with its increments.
func TestIncrementsCountWithTheirBase(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		p := newForest(t, f)
		dir := filepath.Join(p.root, "d")
		first := p.growIncrement("d", 2)
		p.growIncrement("d", 10)
		wantLines(t, ids(1, 2), dir)
		wantLines(t, ids(2), dir+"/increment-00000010-*")
		p.replace("d")
		wantLines(t, ids(3), dir)
		p.growIncrement("d", 12)
		p.growIncrement("d", 11)
		wantLines(t, ids(3, 5, 4), dir)
		testenv.Must(t, os.Mkdir(dir+"/"+manifest.IncrementName(13, manifest.NewID()), 0o777))
		wantLines(t, ids(3, 5, 4), dir) // it has no rows yet

		// While the output is replaced it is missing, and its increments are no dataset.
		success := filepath.Join(dir, manifest.SuccessName)
		testenv.Must(t, os.Rename(success, dir+"/_aside"))
		if _, err := openAll(t, dir); !errors.Is(err, dataset.ErrUnfinished) {
			t.Errorf("increments of a missing output: %v", err)
		}
		write(t, filepath.Join(dir, manifest.LockName), "")
		if _, err := openAll(t, dir); !isChanging(err) {
			t.Errorf("increments of an output that is being replaced: %v", err)
		}
		remove(t, dir, manifest.LockName)
		d, err := dataset.Open(t.Context(), locations(store.Local(), dir), dataset.Options{Formats: formats, Partial: true})
		if err != nil || totalRows(t, d) < 5 {
			t.Errorf("with --partial: %v", err)
		}
		testenv.Must(t, os.Rename(dir+"/_aside", success))

		// Each increment is read once.
		testenv.Must(t, os.Rename(first, dir+"/increment-1"))
		if _, err := openAll(t, dir); !isDamage(err) || !strings.Contains(err.Error(), "it is of "+filepath.Base(first)) {
			t.Errorf("an increment under another name: %v", err)
		}
		remove(t, dir, "increment-1")
		p.grow(1, "d/"+manifest.IncrementName(1, manifest.NewID()))
		if _, err := openAll(t, dir); !isDamage(err) || !strings.Contains(err.Error(), "it is of no increment") {
			t.Errorf("an output in the place of an increment: %v", err)
		}
	})
}

// TestOnlyAnEmptyIncrement lists a directory with nothing but an unfinished increment.
func TestOnlyAnEmptyIncrement(t *testing.T) {
	dir := t.TempDir()
	run := filepath.Join(dir, manifest.IncrementName(1, manifest.NewID()))
	testenv.Must(t, os.Mkdir(run, 0o777))
	if _, err := openAll(t, dir); !errors.Is(err, dataset.ErrUnfinished) {
		t.Errorf("%v", err)
	}
	write(t, filepath.Join(run, "x"), "")
	if _, err := openAll(t, dir); !errors.Is(err, dataset.ErrUnfinished) {
		t.Errorf("%v", err)
	}
}

// onNthRead is a store that calls event after a path was read or listed for the nth
// time.
func onNthRead(p string, n *int, event func()) store.Store {
	return storetest.Inject(store.Local(), func(c *storetest.Call) error {
		err := c.Do()
		if (c.Op == storetest.List || c.Op == storetest.ReadFile) && c.Path == p {
			if *n--; *n == 0 {
				event()
			}
		}
		return err
	})
}

// TestReplacedWhileListed replaces an output at different times: opening it returns the
// rows of one output, or ErrChanging.
func TestReplacedWhileListed(t *testing.T) {
	f := formats[0]
	for _, at := range []string{"", "/" + manifest.SuccessName, "/increment", "/increment/" + manifest.SuccessName} {
		for _, top := range []bool{true, false} {
			for _, gone := range []bool{true, false} {
				p := newForest(t, f)
				dir := filepath.Join(p.root, "d")
				want := map[string]bool{}
				if top {
					p.grow(1, "d")
					want[ids(1, 2)] = true
				} else {
					want[ids(1)] = true
				}
				run := p.growIncrement("d", 2)
				n := 1
				st := onNthRead(dir+strings.Replace(at, "/increment", "/"+filepath.Base(run), 1), &n, func() {
					p.replace("d")
					if gone {
						remove(t, dir, filepath.Base(run))
					}
				})
				want[ids(int(p.next)+1)] = true
				d, err := dataset.Open(t.Context(), locations(st, dir), dataset.Options{Formats: formats})
				var got string
				if err == nil {
					got, err = lines(t, d, dataset.Query{Limit: -1})
				}
				if (err != nil || !want[got]) && !isChanging(err) {
					t.Errorf("after %q, with an output: %t, increment removed: %t: %s, %v", at, top, gone, got, err)
				}
			}
		}
	}
}

// TestReplacedForEver gives up after some tries.
func TestReplacedForEver(t *testing.T) {
	p := newForest(t, formats[0])
	p.grow(1, "d")
	run := p.growIncrement("d", 2)
	for tries, ends := range map[int]bool{3: true, 1000: false} {
		st := vanishing(run, &tries)
		if _, err := dataset.Open(t.Context(), locations(st, filepath.Join(p.root, "d")), dataset.Options{Formats: formats}); (err == nil) != ends || err != nil && !isChanging(err) {
			t.Errorf("%v", err)
		}
	}
}

// vanishing is a store in which a directory is listed, but does not exist when it is
// opened, for a number of tries.
func vanishing(dir string, tries *int) store.Store {
	return storetest.Inject(store.Local(), func(c *storetest.Call) error {
		if *tries > 0 {
			switch {
			case c.Op == storetest.List && c.Path == dir:
				*tries--
				return store.ErrNotExist
			case c.Op == storetest.ReadFile && filepath.Dir(c.Path) == dir:
				return store.ErrNotExist
			}
		}
		return c.Do()
	})
}

// TestIncrementsOfALostOutput has increments of another output next to an older output: they
// are not skipped, as no later output replaced them.
func TestIncrementsOfALostOutput(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		p := newForest(t, f)
		dir := filepath.Join(p.root, "d")
		p.grow(1, "d")
		run := p.growIncrement("d", 10)
		p.replace("d")
		s := successOf(t, dir)
		s.Sequence = 9
		writeSuccess(t, dir, s)
		if _, err := openAll(t, dir); !errors.Is(err, dataset.ErrUnfinished) || !strings.Contains(err.Error(), filepath.Base(run)) {
			t.Errorf("next to an older output: %v", err)
		}
		write(t, filepath.Join(dir, manifest.LockName), "")
		if _, err := openAll(t, dir); !errors.Is(err, dataset.ErrUnfinished) {
			t.Errorf("while another run works there: %v", err)
		}
		s.Sequence = 11
		writeSuccess(t, dir, s)
		if _, err := openAll(t, dir); err != nil {
			t.Errorf("next to a newer output: %v", err)
		}
	})
}

// torn is a store whose listings of a directory omit some names, for a number of tries,
// like a listing during which these files were added or moved away.
func torn(dir string, lacks []string, tries *int) store.Store {
	return storetest.Inject(store.Local(), func(c *storetest.Call) error {
		err := c.Do()
		if c.Op == storetest.List && c.Path == dir && *tries > 0 {
			*tries--
			c.Infos = slices.DeleteFunc(c.Infos, func(i store.Info) bool { return slices.Contains(lacks, i.Name) })
		}
		return err
	})
}

// TestTornListing lists again if an output appeared during a listing while the increments
// that it replaced were removed one by one.
func TestTornListing(t *testing.T) {
	for _, top := range []bool{true, false} {
		for tries, ends := range map[int]bool{1: true, 3: true, 1000: false} {
			p := newForest(t, formats[0])
			dir := filepath.Join(p.root, "d")
			if top {
				p.grow(1, "d")
			}
			p.growIncrement("d", 2)
			moved := p.growIncrement("d", 3)
			p.replace("d")
			remove(t, dir, filepath.Base(moved))
			want := ids(int(p.next))
			d, err := dataset.Open(t.Context(), locations(torn(dir, []string{manifest.SuccessName}, &tries), dir), dataset.Options{Formats: formats})
			if !ends {
				if !isChanging(err) {
					t.Errorf("with an output: %t: %v", top, err)
				}
				continue
			}
			testenv.Must(t, err)
			if got, err := lines(t, d, dataset.Query{Limit: -1}); err != nil || got != want {
				t.Errorf("with an output: %t: %s, %v, want %s", top, got, err, want)
			}
		}
	}
}

// inParallel is a store that reads the first manifest of an increment only once another is being read.
func inParallel() store.Store {
	var reading atomic.Int64
	two := make(chan struct{})
	return storetest.Inject(store.Local(), func(c *storetest.Call) error {
		if c.Op == storetest.ReadFile && strings.HasPrefix(filepath.Base(filepath.Dir(c.Path)), "increment-") {
			if reading.Add(1) == 2 {
				close(two)
			}
			select {
			case <-two:
			case <-time.After(10 * time.Second):
				return errors.New("the manifests are read one after another")
			}
		}
		return c.Do()
	})
}

// TestManyIncrements reads manifests of increments in parallel: their order stays the same.
func TestManyIncrements(t *testing.T) {
	p := newForest(t, formats[0])
	var want []int
	for i := range 40 {
		p.growIncrement("d", int64(i+1))
		want = append(want, i+1)
	}
	st := inParallel()
	d := openOn(t, st, filepath.Join(p.root, "d"), dataset.Options{Formats: formats})
	if got, err := lines(t, d, dataset.Query{Limit: -1}); err != nil || got != ids(want...) {
		t.Errorf("%s, %v", got, err)
	}
}

// TestIncrementThatCameBack has an increment with the rows of an input of the output or of
// another increment. Nothing is read then, unless the increment alone is named.
func TestIncrementThatCameBack(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format.Format) {
		p := newForest(t, f)
		p.grow(1, "d")
		dir := filepath.Join(p.root, "d")
		p.growIncrement("d", 2)
		last := p.growIncrement("d", 4)
		wantLines(t, ids(1, 2, 3), dir)
		was := successOf(t, last)
		for _, other := range []string{dir, dir + "/increment-00000002-*"} {
			found, err := filepath.Glob(other)
			testenv.Must(t, err)
			input := successOf(t, found[0]).Request.Inputs[0]
			s := *was
			s.Request.Inputs = []manifest.Input{{Path: "before", Size: 1, CRC32C: new(uint32)}, input}
			writeSuccess(t, last, &s)
			_, err = openAll(t, dir)
			if !isDamage(err) || !strings.Contains(err.Error(), last+"/_SUCCESS: count: the rows of "+input.Path+" are in "+found[0]+" as well") {
				t.Errorf("its rows are in %s: %v", other, err)
			}
			wantLines(t, ids(3), last)
		}
		// Two increments of one number, which another program must have made, are read in the order of their IDs.
		writeSuccess(t, last, was)
		want := ids(1, 2, 3, 4)
		if again := p.growIncrement("d", 4); again < last {
			want = ids(1, 2, 4, 3)
		}
		wantLines(t, want, dir)
	})
}
