package dataset_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/format"
	"github.com/rowtocol/rowtocol/internal/mailgen"
	"github.com/rowtocol/rowtocol/job"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

// exampleOutput converts a few messages and returns the directory of the output.
func exampleOutput() (dir string, remove func()) {
	base, err := os.MkdirTemp("", "dataset-")
	if err != nil {
		log.Fatal(err)
	}
	f, err := os.Create(filepath.Join(base, "mail.avro"))
	if err != nil {
		log.Fatal(err)
	}
	if err := mailgen.Write(f, mailgen.Options{Rows: 1000, Seed: 1}); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	dir = filepath.Join(base, "mail.columns")
	if _, err := job.Convert(context.Background(), request(trevni.Format, f.Name(), dir, base)); err != nil {
		log.Fatal(err)
	}
	return dir, func() { _ = os.RemoveAll(base) }
}

// This example reads values row by row. Lengths say which rows have a value, and how
// many items an array has.
func ExampleBatches_Vector() {
	dir, remove := exampleOutput()
	defer remove()
	ctx := context.Background()
	d, err := dataset.Open(ctx, []store.Location{{Store: store.Local(), Path: dir}}, dataset.Options{Formats: format.Registry{trevni.Format}})
	if err != nil {
		log.Fatal(err)
	}
	b, err := d.Batches(ctx, dataset.Query{Columns: []string{"subject", "received.host"}, Where: "id % 300 == 2", Limit: 3})
	if err != nil {
		log.Fatal(err)
	}
	defer b.Close()
	for b.Next() {
		subject, hops, host := b.Vector(0), b.Vector(1), b.Vector(2)
		s, h := 0, 0
		for row := range b.Rows() {
			text := "no subject"
			if subject.Lengths[row] == 1 {
				text = string(subject.Data[subject.Offsets[s]:subject.Offsets[s+1]])
				s++
			}
			fmt.Print(text, " via")
			for range hops.Lengths[row] {
				fmt.Print(" ", string(host.Data[host.Offsets[h]:host.Offsets[h+1]]))
				h++
			}
			fmt.Println()
		}
	}
	if err := b.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// an a a have of for is via mx2.example.org mx1.example.org
	// budget a to to via mx1.mail.example.com mx1.example.org
	// of the tomorrow is via mx4.example.org
}

// This example reads some fields of the rows that match a condition, as Avro.
func ExampleDataset_Scan() {
	dir, remove := exampleOutput()
	defer remove()
	ctx := context.Background()
	d, err := dataset.Open(ctx, []store.Location{{Store: store.Local(), Path: dir}}, dataset.Options{Formats: format.Registry{trevni.Format}})
	if err != nil {
		log.Fatal(err)
	}
	s, err := d.Scan(ctx, dataset.Query{
		Columns: []string{"id", "seen"},
		Where:   `folder == "SPAM" && size != null`,
		Limit:   3,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	fmt.Println(s.Schema().Root().Fields[0].Name, s.Schema().Root().Fields[1].Name)
	var row []byte
	for {
		if row, err = s.Next(row[:0]); err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("% x\n", row)
	}
	// Output:
	// id seen
	// 68 01
	// b2 01 01
	// aa 02 00
}

// This example makes text of rows where they are read, on two workers. The text is the same with
// any number of workers.
func ExampleRowResults() {
	dir, remove := exampleOutput()
	defer remove()
	ctx := context.Background()
	d, err := dataset.Open(ctx, []store.Location{{Store: store.Local(), Path: dir}}, dataset.Options{Formats: format.Registry{trevni.Format}})
	if err != nil {
		log.Fatal(err)
	}
	p, err := d.Plan(dataset.Query{Columns: []string{"id"}, Where: "id % 400 == 1", Limit: -1, Workers: 2})
	if err != nil {
		log.Fatal(err)
	}
	lines := dataset.RowResults(ctx, p, func(w *dataset.Waiting) func(*dataset.Rows, func(*dataset.Buffer) error) error {
		return func(rows *dataset.Rows, emit func(*dataset.Buffer) error) error {
			b, err := w.Buffer()
			if err != nil {
				return err
			}
			var row []byte
			for err == nil {
				if row, err = rows.Next(row[:0]); err == nil {
					b.Data = fmt.Appendf(b.Data, "% x\n", row)
				}
			}
			if err != io.EOF {
				return err
			}
			return emit(b)
		}
	})
	defer lines.Close()
	for {
		b, err := lines.Next()
		if err == io.EOF {
			break
		} else if err != nil {
			log.Fatal(err)
		}
		fmt.Print(string(b.Data))
		b.Release()
	}
	// Output:
	// 02
	// a2 06
	// c2 0c
	// 82 19
	// a2 1f
}
