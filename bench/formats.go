package main

import (
	"cmp"
	"fmt"
	"sync"
)

// formatCases are the cases in each format. The others are compared with the first.
var formatCases = [][]benchCase{
	{{set: "mail", codec: "snappy"}, {set: "mail", codec: "snappy", format: "cfile"}, {set: "mail", codec: "snappy", format: "parquet"}},
	{{set: "flat400", codec: "snappy"}, {set: "flat400", codec: "snappy", format: "cfile"}, {set: "flat400", codec: "snappy", format: "parquet"}},
}

// runFormats prints the cost of a conversion by format, on one core with one worker.
func (b *bench) runFormats() error {
	head := sync.OnceFunc(func() {
		fmt.Printf("\n| format | set | CPU s | : trevni | peak MiB | MB |\n|---|---|---:|---:|---:|---:|\n")
	})
	type run struct {
		usage
		size int64
	}
	for _, cases := range formatCases {
		if !b.selects("formats", cases[0]) {
			continue
		}
		input, err := b.generate(cases[0].set, cases[0].codec, 0)
		if err != nil {
			return err
		}
		rounds := make([][]run, b.runs)
		for i := range rounds {
			for _, c := range cases {
				var r run
				if r.usage, r.size, err = b.convertSized(c, input, 1); err != nil {
					return err
				}
				rounds[i] = append(rounds[i], r)
			}
		}
		head()
		for i, c := range cases {
			of := func(value func(r, first *run) float64) float64 {
				return median(rounds, func(round *[]run) float64 { return value(&(*round)[i], &(*round)[0]) })
			}
			fmt.Printf("| %s | %s | %.2f | %.2f | %.0f | %.0f |\n", cmp.Or(c.format, "trevni"), c.set,
				of(func(r, _ *run) float64 { return r.CPU.Seconds() }),
				of(func(r, first *run) float64 { return r.CPU.Seconds() / first.CPU.Seconds() }),
				of(func(r, _ *run) float64 { return float64(r.Peak) / (1 << 20) }),
				of(func(r, _ *run) float64 { return float64(r.size) / 1e6 }))
		}
	}
	return nil
}
