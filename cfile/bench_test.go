package cfile

import (
	"errors"
	"io"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// BenchmarkRead reads all rows of a file.
func BenchmarkRead(b *testing.B) {
	nullable, _ := nullableRows(100, 10_000)
	for name, raw := range map[string]*rawFile{
		"int64": int64File(make([]int64, 1_000_000), 8000), "nullable": nullable,
	} {
		b.Run(name, func(b *testing.B) {
			f := openBytes(b, raw.bytes(b))
			b.SetBytes(8 * f.footer.Values)
			var rows Rows
			for b.Loop() {
				c := f.Cursor()
				for {
					rows.Reset()
					if _, err := c.Read(&rows, 4096); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						b.Fatal(err)
					}
				}
				c.Close()
			}
		})
	}
}

// BenchmarkSeek moves a cursor back and forth.
func BenchmarkSeek(b *testing.B) {
	values := make([]int64, 1_000_000)
	for i := range values {
		values[i] = int64(i)
	}
	raw := int64File(values, 1000)
	raw.fan = 100
	c := openBytes(b, raw.bytes(b)).Cursor()
	b.Run("row", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			testenv.Must(b, c.SeekRow(int64(i)*7919%1_000_000))
		}
	})
	b.Run("value", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if _, err := c.SeekValue(int64Key(int64(i) * 7919 % 1_000_000)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
