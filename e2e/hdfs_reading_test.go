package e2e

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/parquet"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
	"github.com/rowtocol/rowtocol/trevni"
)

// hdfsRows is the number of mails that BenchmarkHDFSRead reads.
var hdfsRows = flag.Int64("hdfs-rows", 300_000, "mails that BenchmarkHDFSRead reads; 5,000,000 take about 1 GiB")

// stretch is a range of a stored file.
type stretch struct {
	file     string
	from, to int64
}

// hdfsReading is reads of the same bytes by the client alone and by the program.
type hdfsReading struct {
	what   string
	bytes  int64
	client [2][]time.Duration // one goroutine, two goroutines
	runs   []*hdfsRun
}

// hdfsRun is a command of the program, without its input.
type hdfsRun struct {
	args   []string
	read   int64              // bytes, as the program counts them
	remote [2][]time.Duration // one worker, two workers
	local  [2][]time.Duration // the same on local disk
}

// BenchmarkHDFSRead prints how long the program takes to read a dataset on HDFS, next to the
// time in which the client alone reads the same bytes: with one goroutine and with two. The
// last columns are the program's times on local disk: what decoding alone takes. All daemons
// run on this machine. With a link of 1 Gbit/s, the data node sends at most 125 MB/s.
//
//	go test -run '^$' -bench HDFSRead -benchtime 1x -timeout 1h ./e2e -hdfs-rows 5000000
func BenchmarkHDFSRead(b *testing.B) {
	input := filepath.Join(b.TempDir(), "mail.avro")
	hadooptest.RequireCluster(b)
	writeMail(b, input, *hdfsRows)
	for _, link := range []struct {
		name  string
		speed int // bytes per second; 0 for no limit
	}{{"no link", 0}, {"1 Gbit/s", 125_000_000}} {
		c := hadooptest.New(b, hadooptest.Config{DataNodes: 1, HDFS: map[string]string{"dfs.datanode.data.read.bandwidthPerSec": strconv.Itoa(link.speed)}})
		for _, f := range []format.Format{trevni.Format, parquet.Format} {
			benchmarkReads(b, c, input, f, link.name)
		}
		c.Stop()
	}
}

// benchmarkReads converts the input to HDFS and to local disk, reads it, and prints a table.
func benchmarkReads(b *testing.B, c *hadooptest.Cluster, input string, f format.Format, link string) {
	local, remote := filepath.Join(b.TempDir(), "out"), fmt.Sprint(c.URI(), "/out-", scratches.Add(1))
	for _, dest := range []string{local, remote} {
		run(b, "convert", "--format="+f.Name(), "--replication=1", "--temp-dir="+b.TempDir(), input, dest).want(b, 0)
	}
	resolver := location.New(location.Options{})
	defer func() { _ = resolver.Close() }()
	at, err := resolver.Resolve(remote)
	must(b, err)
	l, err := dataset.List(b.Context(), []store.Location{at}, dataset.Options{Formats: format.Registry{f}})
	must(b, err)
	arrow := []string{"cat", "--to=arrow"}
	readings := []struct {
		hdfsReading
		stretches []stretch
	}{
		{hdfsReading{what: "all columns", runs: hdfsRuns([]string{"stats"}, arrow)}, wholeFiles(l)},
		{hdfsReading{what: "body", runs: hdfsRuns([]string{"stats", "--columns=body"}, append(arrow, "--columns=body"))}, columnOf(b, l, f, "body")},
	}
	fmt.Printf("\n%s, %s, %d parts\n\n", f.Name(), link, len(l.Parts))
	fmt.Println("| columns | MB | client, s | | command | read, MB | HDFS, s | | : client | | local, s | |\n|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|")
	for i := range readings {
		r := &readings[i]
		for _, s := range r.stretches {
			r.bytes += s.to - s.from
		}
		for range b.N {
			for n := range r.client {
				r.client[n] = append(r.client[n], readAlone(b, at.Store, r.stretches, n+1))
				for _, run := range r.runs {
					run.measure(b, n, local, remote)
				}
			}
		}
		r.print()
	}
}

func hdfsRuns(commands ...[]string) (runs []*hdfsRun) {
	for _, args := range commands {
		runs = append(runs, &hdfsRun{args: args})
	}
	return runs
}

func wholeFiles(l *dataset.Listing) (all []stretch) {
	for i := range l.Parts {
		for _, f := range l.Parts[i].Files {
			all = append(all, stretch{f.Name, 0, f.Bytes})
		}
	}
	return all
}

// columnOf returns where the files have the blocks of columns whose name begins with a field's.
func columnOf(b *testing.B, l *dataset.Listing, f format.Format, field string) (all []stretch) {
	for i := range l.Parts {
		name := l.Parts[i].Files[0].Name
		stored, err := l.Parts[i].Store.Open(b.Context(), name)
		must(b, err)
		seen := &columnFinder{File: stored}
		p, err := f.Open([]format.File{seen}, format.OpenOptions{})
		must(b, err)
		for n, col := range p.Columns() {
			if name, _, _ := strings.Cut(col.Name, "/"); name != field {
				continue
			}
			cursor, err := p.(format.ColumnPart).Cursor(n)
			must(b, err)
			var v column.Vector
			seen.found.from = math.MaxInt64
			_, _, err = cursor.Read(&v, 1)
			must(b, err)
			all = append(all, stretch{name, seen.found.from, seen.found.to})
		}
		must(b, stored.Close())
	}
	return all
}

// columnFinder is a file that notes where a column begins and ends.
type columnFinder struct {
	store.File
	found stretch
}

// ReadBlock implements format.File.
func (f *columnFinder) ReadBlock(p []byte, _ int, off, end int64) (int, error) {
	f.found.from, f.found.to = min(f.found.from, off), end
	return f.ReadAt(p, off)
}

// ReadTable implements format.File.
func (f *columnFinder) ReadTable(p []byte, _ int, off, _ int64) (int, error) {
	return f.ReadAt(p, off)
}

// readAlone reads stretches of files with goroutines, and returns the time.
func readAlone(b *testing.B, st store.Store, all []stretch, goroutines int) time.Duration {
	b.Helper()
	began := time.Now()
	var next atomic.Int64
	ended := make(chan error, goroutines)
	for range goroutines {
		go func() {
			var err error
			for i := next.Add(1) - 1; int(i) < len(all) && err == nil; i = next.Add(1) - 1 {
				err = readStretch(b, st, all[i])
			}
			ended <- err
		}()
	}
	for range goroutines {
		must(b, <-ended)
	}
	return time.Since(began)
}

func readStretch(b *testing.B, st store.Store, s stretch) error {
	f, err := st.Open(b.Context(), s.file)
	if err != nil {
		return err
	}
	buf := make([]byte, 1<<20)
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{io.NewSectionReader(f, s.from, s.to-s.from)}, buf)
	return errors.Join(err, f.Close())
}

// measure runs the command once more, with n+1 workers.
func (r *hdfsRun) measure(b *testing.B, n int, local, remote string) {
	b.Helper()
	r.local[n] = append(r.local[n], r.run(b, n+1, local))
	r.remote[n] = append(r.remote[n], r.run(b, n+1, remote))
}

// run runs the command, and returns the time that it took.
func (r *hdfsRun) run(b *testing.B, workers int, input string) time.Duration {
	b.Helper()
	cmd := command(append(slices.Clone(r.args), "--json", "--workers="+strconv.Itoa(workers), input)...)
	// Rows go to the null device, and then the report to standard error.
	var out bytes.Buffer
	if cmd.Stdout = &out; r.args[0] == "cat" {
		cmd.Stdout, cmd.Stderr = nil, &out
	}
	began := time.Now()
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v: %v\n%s", cmd.Args, err, tail(out.String()))
	}
	took := time.Since(began)
	if read := bytesRead.FindStringSubmatch(out.String()); read != nil {
		r.read, _ = strconv.ParseInt(read[1], 10, 64) // digits
	}
	return took
}

// bytesRead finds the number of bytes in a report.
var bytesRead = regexp.MustCompile(`"bytes_read": *([0-9]+)`)

// print prints the lines of the table.
func (r *hdfsReading) print() {
	for _, run := range r.runs {
		one, two := median(r.client[0]), median(r.client[1])
		fmt.Printf("| %s | %.1f | %.3f | %.3f | %s | %.1f | %.3f | %.3f | %.2f | %.2f | %.3f | %.3f |\n", r.what, float64(r.bytes)/1e6, one, two,
			strings.Join(run.args, " "), float64(run.read)/1e6, median(run.remote[0]), median(run.remote[1]), median(run.remote[0])/one, median(run.remote[1])/one,
			median(run.local[0]), median(run.local[1]))
	}
}

// median returns the median of times in seconds.
func median(times []time.Duration) float64 {
	slices.Sort(times)
	return times[len(times)/2].Seconds()
}
