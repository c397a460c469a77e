// Command hfiles compares the cost of writing and scanning the same cells with package hfile
// and with HBase's own Java code, and prints a table. "make bench-hfile" runs it on one
// core, from the root of the repository:
//
//	bench-hfile -cells 1000000 -runs 9
//
// Both write files with a Bloom filter of the rows and CRC-32C. Both scan the file of
// HBase's writer and verify its checksums. Times are CPU seconds of the whole process,
// including compilation and garbage collection. Java is cold in the first pass of a new
// virtual machine, whose start does not count, and warm in later passes.
package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"

	"github.com/rowtocol/rowtocol/hfile"
)

func main() {
	cells := flag.Int("cells", 1_000_000, "how many `cells`")
	runs := flag.Int("runs", 9, "how many warm passes; the table has their medians")
	flag.Parse()
	if err := run(*cells, max(*runs, 1)); err != nil {
		fmt.Fprintln(os.Stderr, "bench-hfile:", err)
		os.Exit(1)
	}
}

// pass is the result of writing or scanning a file once.
type pass struct {
	cpu   float64 // seconds
	cells int64
	bytes int64 // of the file written, or of the rows and values scanned
}

func run(cells, runs int) (err error) {
	runtime.GOMAXPROCS(1)
	j, err := buildJava("e2e/hfile")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "rowtocol-bench-hfile-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }() // scratch
	fmt.Println("| | codec | ours CPU s | HBase warm | : ours | HBase cold | : ours | ours MB | HBase MB |")
	fmt.Println("|---|---|---:|---:|---:|---:|---:|---:|---:|")
	for _, codec := range []hfile.Codec{hfile.None, hfile.GZ} {
		ours, theirs := filepath.Join(dir, "ours.hfile"), filepath.Join(dir, "hbase.hfile")
		written, err := compare(runs,
			func() (pass, error) { return write(ours, codec, cells) },
			func(n int) ([]pass, error) { return j.write(theirs, codec, cells, n) })
		if err != nil {
			return err
		}
		written.print("write", codec)
		scanned, err := compare(runs,
			func() (pass, error) { return scan(theirs) },
			func(n int) ([]pass, error) { return j.scan(theirs, codec, cells, n) })
		if err != nil {
			return err
		}
		scanned.print("scan", codec)
		if a, b := scanned.ours[0], scanned.java[0]; a.cells != b.cells || a.bytes != b.bytes {
			return fmt.Errorf("we scanned %d cells and %d bytes, HBase %d and %d", a.cells, a.bytes, b.cells, b.bytes)
		}
	}
	return nil
}

// comparison has the passes of both; the first of Java's is cold.
type comparison struct{ ours, java []pass }

func compare(runs int, ours func() (pass, error), java func(passes int) ([]pass, error)) (c comparison, err error) {
	if c.java, err = java(runs + 1); err != nil {
		return c, err
	}
	if len(c.java) != runs+1 {
		return c, fmt.Errorf("%d passes of HBase instead of %d", len(c.java), runs+1)
	}
	for range runs {
		p, err := ours()
		if err != nil {
			return c, err
		}
		c.ours = append(c.ours, p)
	}
	return c, nil
}

func (c comparison) print(what string, codec hfile.Codec) {
	ours, warm, cold := median(c.ours), median(c.java[1:]), c.java[0].cpu
	size := func(p pass) string {
		if what == "scan" {
			return ""
		}
		return fmt.Sprintf("%.1f", float64(p.bytes)/1e6)
	}
	fmt.Printf("| %s | %s | %.3f | %.2f | %.1f | %.2f | %.1f | %s | %s |\n", what, codec, ours,
		warm, warm/ours, cold, cold/ours, size(c.ours[0]), size(c.java[0]))
}

func median(passes []pass) float64 {
	times := make([]float64, len(passes))
	for i, p := range passes {
		times[i] = p.cpu
	}
	slices.Sort(times)
	return times[len(times)/2]
}

// cpu returns the CPU seconds of the process so far.
func cpu() (float64, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, err
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9, nil
}

// timed makes a pass and measures it.
func timed(do func() (cells, bytes int64, err error)) (p pass, err error) {
	before, err := cpu()
	if err != nil {
		return p, err
	}
	if p.cells, p.bytes, err = do(); err != nil {
		return p, err
	}
	after, err := cpu()
	p.cpu = after - before
	return p, err
}

// write writes the same cells as the Java program.
func write(path string, codec hfile.Codec, cells int) (pass, error) {
	return timed(func() (_, _ int64, err error) {
		file, err := os.Create(path)
		if err != nil {
			return 0, 0, err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		out := bufio.NewWriterSize(file, 64<<10)
		w, err := hfile.NewWriter(out, hfile.WriterOptions{Codec: codec, RowBloom: true})
		if err != nil {
			return 0, 0, err
		}
		row, value := []byte("0123456789abcdef"), make([]byte, 40)
		copy(row[8:], "89abcdef")
		var key hfile.Key
		for i := range uint64(cells) {
			binary.BigEndian.PutUint64(row, i)
			binary.BigEndian.PutUint64(value, i*0x9E3779B97F4A7C15)
			key = hfile.AppendKey(key[:0], row, nil, nil, hfile.LatestTimestamp, hfile.Put)
			if err := w.Append(key, value); err != nil {
				return 0, 0, err
			}
		}
		if err := errors.Join(w.Close(), out.Flush()); err != nil {
			return 0, 0, err
		}
		size, err := file.Seek(0, io.SeekEnd)
		return w.Cells(), size, err
	})
}

// scan reads all cells of a file.
func scan(path string) (pass, error) {
	return timed(func() (cells, bytes int64, err error) {
		file, err := os.Open(path)
		if err != nil {
			return 0, 0, err
		}
		defer func() { _ = file.Close() }() // it is only read
		info, err := file.Stat()
		if err != nil {
			return 0, 0, err
		}
		r, err := hfile.Open(file, info.Size(), hfile.OpenOptions{Name: path})
		if err != nil {
			return 0, 0, err
		}
		defer r.Close()
		s := r.Scan()
		defer s.Close()
		for s.Next() {
			cells++
			bytes += int64(len(s.Key().Row()) + len(s.Value()))
		}
		return cells, bytes, s.Err()
	})
}
