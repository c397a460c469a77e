package trevni_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
	"github.com/rowtocol/rowtocol/trevni"
)

// flights writes a file of two columns: destinations of flights, and their days.
func flights() []byte {
	var file bytes.Buffer
	w, err := trevni.NewWriter(&file, "", []column.Column{
		{Name: "to", Type: column.String, Parent: -1},
		{Name: "days[]", Type: column.Int, Array: true, Parent: -1},
	}, trevni.Options{Codec: "deflate", Values: []string{"to"}})
	if err != nil {
		log.Fatal(err)
	}
	for _, f := range []struct {
		to   string
		days []int64
	}{{"AMS", []int64{1, 3, 5}}, {"OSL", nil}, {"ZRH", []int64{6}}} {
		w.Column(0).AppendSized([]byte(f.to))
		w.Column(1).Length(uint32(len(f.days)))
		for _, day := range f.days {
			w.Column(1).AppendVarint(day)
		}
		if err := w.EndRow(); err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		log.Fatal(err)
	}
	return file.Bytes()
}

// Read the values of two columns into vectors.
func ExampleFile_Cursor() {
	file := flights()
	f, err := trevni.Open(bytes.NewReader(file), int64(len(file)), "flights.trv")
	if err != nil {
		log.Fatal(err)
	}
	for i, c := range f.Columns() {
		cursor, err := f.Cursor(i)
		if err != nil {
			log.Fatal(err)
		}
		var v column.Vector
		for {
			// Read stops where a block ends.
			_, _, err := cursor.Read(&v, 1000)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				log.Fatal(err)
			}
		}
		if c.Type == column.String {
			for i := range v.Values {
				fmt.Printf("%s: %s\n", c.Name, v.Data[v.Offsets[i]:v.Offsets[i+1]])
			}
		} else {
			fmt.Printf("%s: lengths %v, values %v\n", c.Name, v.Lengths, v.Ints)
		}
	}
	// Output:
	// to: AMS
	// to: OSL
	// to: ZRH
	// days[]: lengths [3 0 1], values [1 3 5 6]
}

// Find a row by its value in a column whose values ascend, and read another
// column there.
func ExampleCursor_SeekValue() {
	file := flights()
	f, err := trevni.Open(bytes.NewReader(file), int64(len(file)), "flights.trv")
	if err != nil {
		log.Fatal(err)
	}
	to, err := f.Cursor(0)
	if err != nil {
		log.Fatal(err)
	}
	days, err := f.Cursor(1)
	if err != nil {
		log.Fatal(err)
	}
	row, err := to.SeekValue([]byte("\x06ZRH")) // the length and the bytes, as in Avro
	if err != nil {
		log.Fatal(err)
	}
	if err := days.SeekRow(row); err != nil {
		log.Fatal(err)
	}
	n, err := days.Length()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("row %d has %d day\n", row, n)
	// Output:
	// row 2 has 1 day
}

// Damage says where it is.
func ExampleFile_Verify() {
	file := flights()
	file[len(file)-3] ^= 1
	f, err := trevni.Open(bytes.NewReader(file), int64(len(file)), "flights.trv")
	if err != nil {
		log.Fatal(err)
	}
	err = f.Verify(context.Background())
	var d *damage.Error
	if errors.As(err, &d) {
		fmt.Println(d.Kind, "in column", d.Column, "block", d.Block)
	}
	// Output:
	// checksum in column days[] block 0
}

// Dump a file's bytes with their meaning.
func ExampleFile_Dump() {
	var file bytes.Buffer
	w, err := trevni.NewWriter(&file, "", []column.Column{{Name: "n", Type: column.Int, Parent: -1}}, trevni.Options{Codec: "null", Checksum: "null"})
	if err != nil {
		log.Fatal(err)
	}
	w.Column(0).AppendVarint(7)
	if err := errors.Join(w.EndRow(), w.Close()); err != nil {
		log.Fatal(err)
	}
	f, err := trevni.Open(bytes.NewReader(file.Bytes()), int64(file.Len()), "n.trv")
	if err != nil {
		log.Fatal(err)
	}
	var dump bytes.Buffer
	if err := f.Dump(&dump); err != nil {
		log.Fatal(err)
	}
	_, block, _ := bytes.Cut(dump.Bytes(), []byte("column 0 block"))
	_, _ = os.Stdout.Write(block)
	// Output:
	// 0: rows 0 to 1
	// 000000d4  0e                                               7
}
