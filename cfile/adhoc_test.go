package cfile

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"
)

// A row of a table is found by its composite key.
func TestAdHocIndex(t *testing.T) {
	key := func(name string, id int32) (k []byte) {
		k, err := AppendComposite(k, String, []byte(name), false)
		if err == nil {
			k, err = AppendComposite(k, Int32, binary.LittleEndian.AppendUint32(nil, uint32(id)), true)
		}
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	rows := &Rows{}
	for name := range 100 {
		for id := range 100 {
			rows.AppendBinary(key(fmt.Sprintf("a\x00%03d", name), int32(id-50)))
		}
	}
	f := openBytes(t, write(t, AdHocIndexOptions(), rows))
	m := f.Footer()
	least, _ := m.Get("min_key")
	greatest, _ := m.Get("max_key")
	if m.Encoding != Prefix || m.Compression != LZ4 || m.Positional != nil ||
		!bytes.Equal(least, rows.Binary(0)) || !bytes.Equal(greatest, rows.Binary(9999)) {
		t.Errorf("%+v", m)
	}
	c := f.Cursor()
	defer c.Close()
	for row := 0; row < 10_000; row += 97 {
		exact, err := c.SeekValue(rows.Binary(row))
		if !exact || err != nil || c.Ordinal() != int64(row) {
			t.Errorf("row %d is found at %d, %v, %v", row, c.Ordinal(), exact, err)
		}
	}
}
