package cluster

import (
	"fmt"
	"io"
	"os"
)

const maxFile = 16 << 20 // bytes; usual files have some kilobytes

// readFile returns the content of a file of at most maxFile bytes.
func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	//guard: rejects a file that is too large
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is of more than %d bytes", path, maxFile)
	}
	return data, err
}
