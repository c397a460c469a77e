package store

import (
	"context"
	"fmt"
	"hash/crc32"
	"io"
)

// sumBuffer is how many bytes Sum reads at a time.
const sumBuffer = 1 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Sum reads a whole file and returns its length and the CRC-32C of its bytes. Of a
// file of another length than want, which is not negative, nothing is read.
func Sum(ctx context.Context, st Store, path string, want int64) (size int64, crc uint32, err error) {
	f, err := st.Open(ctx, path)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }()
	//guard: a file that was made huge would be read to its end
	if want >= 0 && f.Size() != want {
		return f.Size(), 0, nil
	}
	buf := make([]byte, max(min(f.Size(), sumBuffer), 1))
	for size < f.Size() {
		//guard: reading would go on to the end of the file after an interruption
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		n, err := f.ReadAt(buf[:min(f.Size()-size, sumBuffer)], size)
		crc = crc32.Update(crc, castagnoli, buf[:n])
		size += int64(n)
		if err == io.EOF {
			break
		}
		if err != nil {
			return 0, 0, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return size, crc, nil
}
