// Command mailgen writes an Avro file of generated mail: the sample under
// testdata/mail and the large set of the benchmarks.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rowtocol/rowtocol/internal/mailgen"
)

func main() {
	var o mailgen.Options
	flag.Int64Var(&o.Rows, "rows", 300_000, "number of messages; 300000 are about 200 MB uncompressed")
	flag.Uint64Var(&o.Seed, "seed", 1, "same seed, same bytes")
	flag.StringVar(&o.Codec, "codec", "snappy", "Avro codec")
	output := flag.String("output", "mail.avro", "file to write")
	flag.Parse()
	if err := write(*output, o); err != nil {
		fmt.Fprintln(os.Stderr, "mailgen:", err)
		os.Exit(1)
	}
}

func write(path string, o mailgen.Options) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".mailgen-")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := mailgen.Write(w, o); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return f.Close()
}
