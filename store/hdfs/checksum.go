package hdfs

import (
	"context"
	"crypto/md5"
	"fmt"
	"path"
	"syscall"

	"google.golang.org/protobuf/proto"

	"github.com/rowtocol/rowtocol/store"
)

// checksum returns the algorithm and bytes that "hdfs dfs -checksum" shows for a file. They
// are the MD5 of the data node's MD5 of the CRCs of a block. Only files of one block are
// supported. All files that rowtocol writes are one block.
//
// The library asks the data nodes in turn, but treats a refusal as a checksum, and does not
// return the algorithm. So the checksum is read from the data nodes' answers.
func (s *Store) checksum(ctx context.Context, p string) (string, error) {
	if _, err := s.open(ctx, p); err != nil {
		return "", store.PathError("checksum", p, err)
	}
	sums := new(checksums)
	err := s.runIdempotent(ctx, func(se *session) error {
		*sums = checksums{}
		se.checksums = sums
		defer func() { se.checksums = nil }()
		r, err := se.client.Open(path.Clean(p))
		if err != nil {
			return err
		}
		defer func() { _ = r.Close() }() // only read
		_, err = r.Checksum()
		return err
	})
	//guard: rejects a checksum that covers only a part of the file
	if err == nil && sums.answers != 1 {
		err = fmt.Errorf("it has %d blocks: %w", sums.answers, syscall.ENOTSUP)
	}
	if err != nil {
		return "", store.PathError("checksum", p, err)
	}
	return sums.sum, nil
}

// checksums collects the data nodes' answers about the blocks of a file.
type checksums struct {
	answers int
	sum     string // checksum of the file, if there is one answer
}

// Values of an answer.
const (
	succeeded = 0
	crc32     = 1
	crc32c    = 2
)

// add adds a data node's answer about a block. If it returns an error, the library asks
// another node.
func (c *checksums) add(message []byte) error {
	m, err := messageOf("hadoop.hdfs.BlockOpResponseProto")
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(message, m.Interface()); err != nil {
		return fmt.Errorf("ask for a checksum: %w", err)
	}
	//guard: rejects an answer without success
	if status := m.field("status").Enum(); status != succeeded {
		return fmt.Errorf("it has no checksum of the block, status %d: %s", status, m.field("message").String())
	}
	r, _ := m.message("checksumResponse")
	algorithm := map[int]string{crc32: "CRC32", crc32c: "CRC32C"}[int(r.field("crcType").Enum())]
	unit, sum := r.field("bytesPerCrc").Uint(), r.field("blockChecksum").Bytes()
	//guard: rejects a checksum that is not made of CRCs
	if algorithm == "" || unit == 0 || len(sum) != md5.Size {
		return fmt.Errorf("its checksum is not one of CRCs: %w", syscall.ENOTSUP)
	}
	// Hadoop digests the MD5s of the blocks with the rest of their buffer, and names
	// the CRCs of a block only if there are several blocks.
	var buffer [2 * md5.Size]byte
	copy(buffer[:], sum)
	c.answers++
	c.sum = fmt.Sprintf("MD5-of-0MD5-of-%d%s:%08x%016x%x", unit, algorithm, unit, 0, md5.Sum(buffer[:]))
	return nil
}
