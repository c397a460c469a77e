package webhdfs

import (
	"context"
	"fmt"
	"net/http"
	"syscall"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/store"
)

// crcChecksum matches a checksum of the CRCs of all bytes of a file. Files without CRCs, or
// without bytes, have other checksums.
var crcChecksum = lazyregexp.New(`^(MD5-of-\d+MD5-of-[1-9]\d*|COMPOSITE-)CRC32C?:[0-9a-f]{8,64}$`)

// checksum returns the algorithm and bytes that "hdfs dfs -checksum" shows for a file.
// The server's configuration selects the algorithm.
func (s *Store) checksum(ctx context.Context, p string) (string, error) {
	sum, err := s.askChecksum(ctx, p)
	//guard: rejects a checksum that is not made of CRCs
	if err == nil && !crcChecksum.MatchString(sum) {
		err = fmt.Errorf("%.100q is not a checksum of CRCs: %w", sum, syscall.ENOTSUP)
	}
	if err != nil {
		return "", store.PathError("checksum", p, err)
	}
	return sum, nil
}

func (s *Store) askChecksum(ctx context.Context, p string) (string, error) {
	//guard: refuses the checksum of a file that is being written
	if _, err := s.closedFile(ctx, p); err != nil {
		return "", err
	}
	resp, _, err := s.get(ctx, call{method: http.MethodGet, op: "GETFILECHECKSUM", path: p})
	if err != nil {
		return "", err
	}
	var answer struct {
		FileChecksum struct {
			Algorithm, Bytes string
			Length           int // length of the checksum; Bytes may have more bytes
		}
	}
	if err := decode(resp, maxAnswer, &answer); err != nil {
		return "", err
	}
	sum := answer.FileChecksum
	//guard: rejects a malformed checksum
	if sum.Length < 0 || sum.Length > len(sum.Bytes)/2 {
		return "", invalidAnswer("an invalid checksum")
	}
	return sum.Algorithm + ":" + sum.Bytes[:2*sum.Length], nil
}
