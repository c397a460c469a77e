// Command datagen writes the generated data of the tests and benchmarks:
//
//	datagen -list
//	datagen -set flat400 -codec snappy -output flat400.avro
//
// A set of several files becomes a directory.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/rowtocol/rowtocol/internal/datagen"
)

func main() {
	var o datagen.Options
	name := flag.String("set", "mail", "data set; -list names them")
	list := flag.Bool("list", false, "list the data sets")
	output := flag.String("output", "", "file or directory to write; by default the set's name in this directory")
	flag.Int64Var(&o.Rows, "rows", 0, "number of rows in all files; 0 is the set's full size")
	flag.Uint64Var(&o.Seed, "seed", 1, "same seed, same bytes")
	flag.StringVar(&o.Codec, "codec", "snappy", "Avro codec")
	flag.Parse()
	if *list {
		for _, s := range datagen.Sets() {
			fmt.Printf("%-9s %7d rows  %s\n", s.Name, s.Rows, s.About)
		}
		return
	}
	if err := write(*name, *output, o); err != nil {
		fmt.Fprintln(os.Stderr, "datagen:", err)
		os.Exit(1)
	}
}

func write(name, output string, o datagen.Options) error {
	s, err := datagen.Lookup(name)
	if err != nil {
		return err
	}
	if output == "" {
		output = s.Name
		if s.Files == 1 {
			output += ".avro"
		}
	}
	return s.WriteFile(output, o)
}
