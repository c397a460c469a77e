package plan

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/cfile"
	"github.com/rowtocol/rowtocol/internal/avrotest"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/failure/failuretest"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/trevni"
)

func TestBlockSize(t *testing.T) {
	w := trevni.NewGroupWriter(trevni.Options{})
	for _, tc := range []struct {
		want, columns int
		memory        int64
		size          int
	}{
		{64 << 10, 100, 1 << 30, 64 << 10},
		{64 << 10, 10_000, 1 << 30, 64 << 10},
		{64 << 10, 20_000, 1 << 30, 32 << 10},
		{64 << 10, 10_000, 100 << 20, 4 << 10},
		{64 << 10, 100_000, 1 << 20, 4 << 10}, // never less than minBlock
		{1 << 10, 100_000, 1 << 20, 1 << 10},  // but as small as requested
		{100_000, 10_000, 1 << 30, 64 << 10},
	} {
		if got := BlockSize(w, tc.want, tc.columns, tc.memory); got != tc.size {
			t.Errorf("BlockSize(%d, %d, %d) = %d, want %d", tc.want, tc.columns, tc.memory, got, tc.size)
		}
	}
}

func TestSmallMemoryShrinksBlocks(t *testing.T) {
	dir := t.TempDir()
	writeInput(t, filepath.Join(dir, "a.avro"), avrotest.Schema, 1, 1)
	r := request(dir+".out", dir)
	r.Memory = budget.New(64 << 10)
	p := mustPlan(t, r)
	if p.BlockSize != 16<<10 || p.Request.Options.BlockSize != 0 || len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "blocks of 16384 bytes") {
		t.Errorf("block size %d, options %+v, warnings %v", p.BlockSize, p.Request.Options, p.Warnings)
	}
}

func TestMemoryForColumns(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "wide.avro")
	var fields []string
	for i := range 3000 {
		fields = append(fields, fmt.Sprintf(`{"name":"f%d","type":["null","long"]}`, i))
	}
	writeInput(t, in, `{"type":"record","name":"R","fields":[`+strings.Join(fields, ",")+`]}`, 1, 0)
	r := request(filepath.Join(dir, "out"), in)
	r.Output.RowGroupSize = 0
	r.Memory = budget.New(17 << 20)
	_, err := mustLook(t, r).Plan(t.Context(), "")
	failuretest.Want(t, err, failure.Usage, "--memory 18MiB is needed")
	// No row group is made if its columns do not fit.
	if s := mustLook(t, r); s.empty != nil {
		t.Error("a row group was made")
	}
	r.Memory = budget.New(1 << 20) // too little even for the mapping
	_, err = NewSurvey(t.Context(), r)
	failuretest.Want(t, err, failure.Usage, "schema of 3000 columns: too little memory")
	r.Memory = budget.New(18 << 20)
	if s := mustLook(t, r); s.empty == nil {
		t.Error("no row group was made")
	}
	mustPlan(t, r)
}

func TestFits(t *testing.T) {
	p := &manifest.Plan{ID: "p", BlockSize: 64 << 10, Columns: 1000}
	p.Request.Options.Format = trevni.Format.Name()
	for _, memory := range []int64{0, DefaultMemory, 94 << 20} {
		if err := Fits(p, formats, memory); err != nil {
			t.Errorf("with %d bytes: %v", memory, err)
		}
	}
	err := Fits(p, formats, 93<<20)
	failuretest.Want(t, err, failure.Usage, "1000 columns with blocks of 65536 bytes: too little memory: --memory 94MiB is needed")
	failuretest.Want(t, err, failure.Usage, "the limit is 93MiB; --restart")
	p.Columns = 10_000
	failuretest.Want(t, Fits(p, formats, 0), failure.Usage, "--memory 938MiB")
	options, err := cfile.Format.Options(nil)
	testenv.Must(t, err)
	p.Request.Options = manifest.Options{Format: cfile.Format.Name(), FormatOptions: options} // this format needs more memory for a column
	failuretest.Want(t, Fits(p, formats, 0), failure.Usage, "--memory 4102MiB")
	p.Request.Options.Format = "later"
	failuretest.Want(t, Fits(p, formats, 0), failure.Usage, "later")
}

// TestMemoryDoesNotChangeThePlan checks that a plan is refused, as its tasks would be, if
// input blocks do not fit a small memory.
func TestMemoryDoesNotChangeThePlan(t *testing.T) {
	dir := t.TempDir()
	in := filepath.Join(dir, "a.avro")
	row := "\x02\x80\x80\x80\x0c" + strings.Repeat("x", 12<<20)
	writeBlocks(t, in, avrotest.Schema, 1, []byte(row), []byte(row))
	r := request(filepath.Join(dir, "out"), in)
	want := mustPlan(t, r)
	r.Memory = budget.New(100 << 20)
	if p := mustPlan(t, r); p.ID != want.ID {
		t.Errorf("%+v, want %+v", p, want)
	}
	r.Memory = budget.New(24 << 20)
	_, err := mustLook(t, r).Plan(t.Context(), "")
	failuretest.Want(t, err, failure.Usage, "a.avro")
	failuretest.Want(t, err, failure.Usage, "the limit is 24MiB")
	r.Output.MaxInputBlock = 1 << 20 // the blocks are then damage, which the tasks report
	mustPlan(t, r)
}
