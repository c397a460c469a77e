package cfile_test

import (
	"encoding/binary"
	"fmt"
	"os"

	"github.com/rowtocol/rowtocol/cfile"
)

// Example reads a file whose values ascend, from the first value that is not less than 1000.
func Example() {
	file, err := os.Open("testdata/kudu/i32_bshuf_lz4_multilevel.cf")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = file.Close() }()
	info, err := file.Stat()
	if err != nil {
		fmt.Println(err)
		return
	}
	f, err := cfile.Open(file, info.Size(), file.Name())
	if err != nil {
		fmt.Println(err)
		return
	}
	footer := f.Footer()
	fmt.Println(footer.Type, footer.Encoding, footer.Compression, footer.Values, "rows")

	c := f.Cursor()
	defer c.Close()
	key, err := cfile.AppendKey(nil, footer.Type, binary.LittleEndian.AppendUint32(nil, 1000))
	if err != nil {
		fmt.Println(err)
		return
	}
	exact, err := c.SeekValue(key)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("row", c.Ordinal(), "exact:", exact)

	var rows cfile.Rows
	n, err := c.Read(&rows, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range n {
		fmt.Println(int32(binary.LittleEndian.Uint32(rows.Fixed[4*i:])))
	}
	// Output:
	// INT32 BIT_SHUFFLE LZ4 20000 rows
	// row 335 exact: true
	// 1000
	// 1003
	// 1006
}
