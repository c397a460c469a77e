package mapper_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/internal/budget"
	"github.com/rowtocol/rowtocol/mapper"
	"github.com/rowtocol/rowtocol/trevni"
)

// faulty is a writer whose encode job of one number fails.
type faulty struct {
	format.ColumnWriter
	at    int // number of the job, from 0; negative for none
	fault fault
	// slow is how long the failing job takes, and others how long each other job takes.
	slow, others time.Duration
	begun        int
}

// fault has the functions that fail in a job.
type fault struct{ begin, bound, encode, end func() error }

// NewRowGroup implements format.ColumnWriter.
func (f *faulty) NewRowGroup(schema string, cols []column.Column, blockSize int) (format.RowGroup, error) {
	rg, err := f.ColumnWriter.NewRowGroup(schema, cols, blockSize)
	return &faultyGroup{rg, f}, err
}

type faultyGroup struct {
	format.RowGroup
	f *faulty
}

type faultyJob struct {
	format.EncodeJob
	fault fault
	takes time.Duration
}

func (g *faultyGroup) Begin(col int, block *column.Block) (format.EncodeJob, error) {
	job, err := g.RowGroup.Begin(col, block)
	if err != nil {
		return nil, err
	}
	j := &faultyJob{EncodeJob: job, takes: g.f.others}
	if g.f.begun == g.f.at {
		j.fault, j.takes = g.f.fault, g.f.slow
	}
	g.f.begun++
	return j, failing(j.fault.begin)
}

func (g *faultyGroup) End(col int, job format.EncodeJob, stored int) error {
	j := job.(*faultyJob)
	if err := failing(j.fault.end); err != nil {
		return err
	}
	return g.RowGroup.End(col, j.EncodeJob, stored)
}

func (j *faultyJob) Bound() int64 {
	if j.fault.bound != nil {
		return 1 << 40
	}
	return j.EncodeJob.Bound()
}

func (j *faultyJob) Encode(dst []byte) ([]byte, error) {
	time.Sleep(j.takes)
	if err := failing(j.fault.encode); err != nil {
		return dst, err
	}
	return j.EncodeJob.Encode(dst)
}

func failing(f func() error) error {
	if f == nil {
		return nil
	}
	return f()
}

func unfit() error {
	return damage.New(damage.Unsupported, "", -1, "a value that does not fit")
}

func refused() error { return &budget.Error{Need: 2, Have: 1} }

// runSynctest runs test in a synctest bubble: if all goroutines wait for each other, it
// fails with their stacks, and time passes only while they all sleep.
func runSynctest(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// drop is an emit function that discards row groups.
func drop(g mapper.RowGroup) error { return g.Spill.Close() }

// runBoth converts src as a task and as a sample, and returns their errors.
func runBoth(t *testing.T, cfg mapper.Config, f *faulty, src mapper.Source) map[string]error {
	t.Helper()
	errs := map[string]error{}
	f.begun = 0
	_, errs["task"] = mapper.Run(t.Context(), []mapper.Source{src}, cfg, drop)
	f.begun = 0
	s := mapper.NewSample(cfg)
	defer s.Close()
	_, read := s.Read(t.Context(), src, src.Size)
	// Finish must return the error of Read again.
	_, err := s.Finish(t.Context())
	if read != nil && !errors.Is(err, read) || read == nil && f.at == 0 {
		t.Errorf("sample: Read returns %v, Finish %v", read, err)
	}
	errs["sample"] = err
	return errs
}

// TestFailedJobs has a job that fails in each possible place, while other jobs are
// before it, after it or not yet begun.
func TestFailedJobs(t *testing.T) {
	file := texts(t, "deflate", 3, outliers(3, 12, 10, 60<<10, 3))
	f := &faulty{ColumnWriter: trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}), at: -1}
	src := source(t, "in.avro", file)
	cfg := config(t, src, f)
	cfg.RowGroupSize, cfg.MaxInputBlock, cfg.OnDamage = 100<<10, 32<<20, mapper.Skip
	if _, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, drop); err != nil || f.begun < 20 {
		t.Fatalf("%d jobs, %v", f.begun, err)
	}
	last := f.begun - 1
	for name, fault := range map[string]fault{
		"begin is refused": {begin: refused}, "begin finds a value unfit": {begin: unfit},
		"encode is refused": {encode: refused}, "encode finds a value unfit": {encode: unfit},
		"end is refused": {end: refused}, "end finds a value unfit": {end: unfit},
	} {
		for _, at := range []int{0, 1, last / 2, last - 1, last} {
			for _, workers := range []int{1, 2, 5} {
				for _, memory := range []int64{16 << 10, 0} {
					for _, slow := range []time.Duration{0, time.Hour} {
						runSynctest(t, fmt.Sprintf("%s/job %d/%d workers/%d bytes/%s", name, at, workers, memory, slow), func(t *testing.T) {
							f := &faulty{ColumnWriter: f.ColumnWriter, at: at, fault: fault, slow: slow, others: time.Minute}
							cfg := cfg
							cfg.Writer, cfg.Workers, cfg.Memory, cfg.Pool = f, workers, memory, budget.New(64<<20)
							for converter, err := range runBoth(t, cfg, f, src) {
								if converter == "sample" && f.begun <= at {
									continue // its row group has fewer blocks
								}
								d, unfit := (*damage.Error)(nil), strings.Contains(name, "unfit")
								if errors.As(err, &d) != unfit || errors.As(err, new(*budget.Error)) == unfit {
									t.Errorf("%s: got %v", converter, err)
								} else if unfit && (d.File != "in.avro" || d.Offset <= 0 || d.Error() != err.Error()) {
									t.Errorf("%s: the error has no location of the value: %v", converter, err)
								}
							}
							if left := cfg.Pool.Available(); left != cfg.Pool.Size() {
								t.Errorf("%d of %d bytes are left in the pool", left, cfg.Pool.Size())
							}
						})
					}
				}
			}
		}
	}
}

// TestFailedJobsAndMemory has a job that fails after the next block has found no memory:
// for reading, for decoding, for its values, or for encoding.
func TestFailedJobsAndMemory(t *testing.T) {
	const large = 6 << 20
	rows := [][][]int{{{large}}, {{10}, {large}}, {{large}}}
	for _, codec := range []string{"null", "deflate"} {
		file := texts(t, codec, 1, rows)
		for at := range rows {
			for name, fault := range map[string]fault{"encode": {encode: unfit}, "end": {end: unfit}, "bound": {bound: refused}} {
				for _, workers := range []int{1, 3} {
					runSynctest(t, fmt.Sprintf("%s/job %d/%s/%d workers", codec, at, name, workers), func(t *testing.T) {
						f := &faulty{ColumnWriter: trevni.NewGroupWriter(trevni.Options{}), at: at, fault: fault, others: time.Minute}
						src := source(t, "in.avro", file)
						cfg := config(t, src, f)
						cfg.MaxInputBlock, cfg.OnDamage, cfg.Workers, cfg.Memory, cfg.Pool = 32<<20, mapper.Quarantine, workers, 16<<10, budget.New(64<<20)
						cfg.Quarantine = func(mapper.Source, ocf.Range) error {
							t.Error("a valid block is reported as damaged")
							return nil
						}
						for converter, err := range runBoth(t, cfg, f, src) {
							if d := (*damage.Error)(nil); name == "bound" && !errors.As(err, new(*budget.Error)) ||
								name != "bound" && (!errors.As(err, &d) || d.File != "in.avro" || d.Error() != err.Error()) {
								t.Errorf("%s: got %v", converter, err)
							}
						}
					})
				}
			}
		}
	}
}

// TestFailedJobBeforeLargeRow resolves a row to a large one after a job has failed.
func TestFailedJobBeforeLargeRow(t *testing.T) {
	larger := strings.Replace(textSchema(1), `]}`, `,{"name":"d","type":"string","default":"`+strings.Repeat("x", 1<<20)+`"}]}`, 1)
	for at := range 4 {
		runSynctest(t, strconv.Itoa(at), func(t *testing.T) {
			f := &faulty{ColumnWriter: trevni.NewGroupWriter(trevni.Options{}), at: at, fault: fault{encode: unfit}}
			src := source(t, "in.avro", texts(t, "null", 1, [][][]int{{{10}, {5000}}, {{10}}, {{10}, {10}}}))
			cfg := config(t, src, f)
			cfg.MaxInputBlock, cfg.Memory, cfg.Pool = 32<<20, 16<<10, budget.New(64<<20)
			resolve(t, &cfg, &src, larger)
			for converter, err := range runBoth(t, cfg, f, src) {
				if d := (*damage.Error)(nil); !errors.As(err, &d) || d.File != "in.avro" {
					t.Errorf("%s: got %v", converter, err)
				}
			}
		})
	}
}

// panicking is the variable whose value, "worker count,job number", makes a job of this
// process panic.
const panicking = "ROWTOCOL_TEST_PANICKING"

// TestPanicEndsTheProcess runs itself in a process with a job that panics: on the goroutine
// of the shredder, or on another goroutine while the shredder waits.
func TestPanicEndsTheProcess(t *testing.T) {
	if at := os.Getenv(panicking); at != "" {
		panicIn(t, at)
		return
	}
	for _, workers := range []int{1, 2, 5} {
		for _, at := range []int{0, 10, 20} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestPanicEndsTheProcess$")
			cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) } // shows the stacks of all goroutines
			cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d,%d", panicking, workers, at))
			out, err := cmd.CombinedOutput()
			if ctx.Err() != nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(string(out), "a defect of a job") || !strings.Contains(string(out), "faultyJob).Encode") {
				t.Errorf("%d workers, job %d: %v\n%s", workers, at, err, out)
			}
		}
	}
}

func panicIn(t *testing.T, what string) {
	var workers, at int
	if _, err := fmt.Sscanf(what, "%d,%d", &workers, &at); err != nil {
		t.Fatal(err)
	}
	f := &faulty{ColumnWriter: trevni.NewGroupWriter(trevni.Options{}), at: at, others: time.Millisecond, fault: fault{encode: func() error { panic("a defect of a job") }}}
	src := source(t, "in.avro", texts(t, "deflate", 3, outliers(3, 12, 10, 60<<10, 3)))
	cfg := config(t, src, f)
	cfg.Workers, cfg.MaxInputBlock = workers, 32<<20
	_, err := mapper.Run(t.Context(), []mapper.Source{src}, cfg, drop)
	t.Log(err)
}

var errBroken = errors.New("broken")

// breaker succeeds n times and then fails. It replaces things that a task waits for.
type breaker struct {
	calls, n int
	in       io.ReaderAt
}

func (b *breaker) call() error {
	if b.calls++; b.calls > b.n {
		return errBroken
	}
	return nil
}

// ReadAt implements io.ReaderAt.
func (b *breaker) ReadAt(p []byte, off int64) (int, error) {
	if err := b.call(); err != nil {
		return 0, err
	}
	return b.in.ReadAt(p, off)
}

// Keys implements mapper.RowSink.
func (*breaker) Keys() []string { return nil }

// Row implements mapper.RowSink.
func (b *breaker) Row(*mapper.Row) error { return b.call() }

// TestFailedTasks fails everything else that a task waits for, early and late: opening and
// reading its input, decoding blocks, the sink of rows, emitting row groups, its context.
func TestFailedTasks(t *testing.T) {
	file := texts(t, "deflate", 3, outliers(3, 12, 10, 60<<10, 3))
	// run runs a task of several sources that b fails in one place.
	run := func(t *testing.T, where string, b *breaker, cfg mapper.Config) error {
		src, emit := source(t, "in.avro", file), drop
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		switch where {
		case "open":
			opened := src
			src.Open = func(context.Context) (mapper.Source, error) { return opened, b.call() }
		case "read":
			b.in, src.R = src.R, b
		case "decode":
			damaged := bytes.Clone(file)
			damaged[len(damaged)*(b.n+1)/12] ^= 0x41
			src.R = bytes.NewReader(damaged)
		case "sink":
			cfg.RowSink = b
		case "emit":
			emit = func(g mapper.RowGroup) error { return errors.Join(b.call(), g.Spill.Close()) }
		case "context":
			cfg.Writer = &faulty{ColumnWriter: cfg.Writer.(format.ColumnWriter), at: -1, others: time.Minute}
			time.AfterFunc(time.Duration(b.n)*time.Minute/2, func() { cancel(nil) })
		}
		_, err := mapper.Run(ctx, []mapper.Source{src, src, src}, cfg, emit)
		return err
	}
	for where, most := range map[string]int{"open": 2, "read": 2, "decode": 10, "sink": 100, "emit": 1, "context": 40} {
		for _, at := range slices.Compact([]int{0, most / 2, most}) {
			for _, workers := range []int{1, 2, 5} {
				for _, memory := range []int64{16 << 10, 0} {
					runSynctest(t, fmt.Sprintf("%s/%d/%d workers/%d bytes", where, at, workers, memory), func(t *testing.T) {
						cfg := config(t, source(t, "in.avro", file), trevni.NewGroupWriter(trevni.Options{Codec: "snappy"}))
						cfg.RowGroupSize, cfg.MaxInputBlock, cfg.MaxOpen = 100<<10, 32<<20, 1
						cfg.Workers, cfg.Memory, cfg.Pool = workers, memory, budget.New(64<<20)
						b := &breaker{n: at}
						err := run(t, where, b, cfg)
						broken := errors.Is(err, errBroken)
						switch where {
						case "decode":
							broken = errors.As(err, new(*damage.Error))
						case "context":
							broken = errors.Is(err, context.Canceled)
						}
						if !broken {
							t.Errorf("error %v after %d calls", err, b.calls)
						}
						if left := cfg.Pool.Available(); left != cfg.Pool.Size() {
							t.Errorf("%d of %d bytes are left in the pool", left, cfg.Pool.Size())
						}
					})
				}
			}
		}
	}
}
