package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rowtocol/rowtocol/avro/ocf"
	"github.com/rowtocol/rowtocol/internal/mailgen"
)

// smallRows is the number of mails in a small file, of about 20 KB.
const smallRows = 65

// prepare makes a directory unless an earlier call did.
func prepare(dir string, fill func(dir string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	making := dir + ".new"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	if err := os.MkdirAll(making, 0o777); err != nil {
		return err
	}
	if err := fill(making); err != nil {
		return err
	}
	return os.Rename(making, dir)
}

// inputs makes the inputs of one job: small files and a large one.
func (m *measurement) inputs(dir string) error {
	for i := range m.small {
		if err := mails(filepath.Join(dir, fmt.Sprintf("day-%05d.avro", i)), smallRows, uint64(i)); err != nil {
			return err
		}
	}
	if m.large == 0 {
		return nil
	}
	return large(filepath.Join(dir, "large.avro"), m.large)
}

// mails makes a file of mails.
func mails(name string, rows int64, seed uint64) error {
	var b bytes.Buffer
	if err := mailgen.Write(&b, mailgen.Options{Rows: rows, Seed: seed, Codec: "snappy"}); err != nil {
		return err
	}
	return os.WriteFile(name, b.Bytes(), 0o666)
}

// large makes a file of at least size bytes. It repeats blocks, since all blocks of a file
// have the same sync marker.
func large(name string, size int64) (err error) {
	var b bytes.Buffer
	if err := mailgen.Write(&b, mailgen.Options{Rows: 300_000, Seed: 1, Codec: "snappy"}); err != nil {
		return err
	}
	header, err := ocf.ReadHeader(bytes.NewReader(b.Bytes()), int64(b.Len()), name)
	if err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := f.Close(); err == nil {
			err = closeErr
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	data := b.Bytes()
	for written := int64(0); written < size; written += int64(len(data)) {
		if written > 0 {
			data = b.Bytes()[header.Size:]
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	return w.Flush()
}
