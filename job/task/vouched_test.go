package task

import (
	"bytes"
	"context"
	"errors"
	"path"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/memstore"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// vouching is a store with checksums of any kind, or without.
type vouching struct {
	storetest.Faulty
	checksum func(ctx context.Context, path string) (string, error)
}

func (v *vouching) Capabilities() store.Capabilities { return store.Capabilities{Checksum: v.checksum} }

// always is a checksum of any file.
func always(sum string, err error) func(context.Context, string) (string, error) {
	return func(context.Context, string) (string, error) { return sum, err }
}

// TestVouched has Finished read what the storage does not vouch for, and nothing
// else.
func TestVouched(t *testing.T) {
	p := damagedPlan(t)
	for name, tt := range map[string]struct {
		made   func(context.Context, string) (string, error) // checksums when the task runs
		now    func(context.Context, string) (string, error) // and later
		change func(b []byte) []byte                         // of the part
		result func(b []byte) []byte                         // a change of the result
		reads  bool
		sound  bool
	}{
		"vouched":           {always("A:1", nil), always("A:1", nil), nil, nil, false, true},
		"no checksums":      {nil, nil, nil, nil, true, true},
		"none then":         {nil, always("A:1", nil), nil, nil, true, true},
		"failed then":       {always("", syscall.EIO), always("A:1", nil), nil, nil, true, true},
		"none now":          {always("A:1", nil), nil, nil, nil, true, true},
		"fails now":         {always("A:1", nil), always("", syscall.EIO), nil, nil, true, true},
		"fails always":      {always("", syscall.EIO), always("", syscall.EIO), nil, nil, true, true},
		"another algorithm": {always("A:1", nil), always("B:1", nil), nil, nil, true, true},
		"another, altered":  {always("A:1", nil), always("A:2", nil), flipped, nil, true, false},
		"none, altered":     {nil, nil, flipped, nil, true, false},
		"longer":            {always("A:1", nil), always("A:1", nil), longer, nil, false, false},
		"miscounted":        {nil, nil, nil, miscounted, false, false},
		"vouched, counted":  {always("A:1", nil), always("A:1", nil), nil, miscounted, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			st := &vouching{storetest.NewFaulty(memstore.New().Client()), tt.made}
			results, err := open(t, p, options(t)).Run(t.Context(), st, "/", []int{0})
			testenv.Must(t, err)
			var size int64
			for _, f := range results[0].Files() {
				size += f.Bytes
			}
			part := path.Join("/", results[0].Parts[0].Files[0].Name)
			if tt.change != nil {
				alter(t, st, part, tt.change)
			}
			if tt.result != nil {
				alter(t, st, path.Join("/", manifest.TaskName(0)), tt.result)
			}
			st.checksum = tt.now
			before := st.Bytes()
			res, err := WorkIn(p, nil, st, "/").Finished(t.Context(), 0)
			if (res != nil) != tt.sound || !tt.sound && !errors.Is(err, failure.Foreign) || tt.sound && err != nil {
				t.Errorf("%v, %v", res, err)
			}
			read := st.Bytes() - before
			if tt.sound && tt.reads && read != size || !tt.reads && read != 0 || tt.reads && read == 0 {
				t.Errorf("%d bytes of %d were read", read, size)
			}
		})
	}
}

func flipped(b []byte) []byte { b[len(b)/2] ^= 1; return b }

func longer(b []byte) []byte { return append(b, 'x') }

// miscounted gives the files of a result another length.
func miscounted(b []byte) []byte {
	return bytes.ReplaceAll(b, []byte(`"bytes": `), []byte(`"bytes": 1`))
}

// alter changes what a file holds.
func alter(t *testing.T, st store.Store, file string, change func(b []byte) []byte) {
	t.Helper()
	b, err := st.ReadFile(t.Context(), file, manifest.MaxSize)
	if err == nil {
		err = st.WriteFile(t.Context(), file, change(b), false)
	}
	testenv.Must(t, err)
}

// TestChecksumsOfResults are of the files as they are, copies of damaged ranges
// included.
func TestChecksumsOfResults(t *testing.T) {
	p, st := damagedPlan(t), memstore.New().Client()
	results, err := open(t, p, options(t)).Run(t.Context(), st, "/", all(p))
	testenv.Must(t, err)
	copies := 0
	for _, res := range results {
		for _, f := range res.Files() {
			want, err := st.Capabilities().Checksum(t.Context(), path.Join("/", f.Name))
			if err != nil || f.StoreChecksum != want {
				t.Errorf("%s has %s, and the result says %q, %v", f.Name, want, f.StoreChecksum, err)
			}
			if !strings.HasPrefix(f.Name, "part-") {
				copies++
			}
		}
	}
	if copies == 0 {
		t.Error("there is no copy of a damaged range")
	}
}
