package hdfs

import (
	"crypto/md5"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

var blockSum = md5.Sum([]byte("the CRCs of a block"))

// checksumAnswer is a data node's answer with the checksum of a block.
func checksumAnswer(crcs string, unit int, sum []byte) string {
	return fmt.Sprintf(`{"status":"SUCCESS","checksumResponse":{"bytesPerCrc":%d,"crcPerBlock":3,"blockChecksum":%q%s}}`,
		unit, base64.StdEncoding.EncodeToString(sum), crcs)
}

// blockOn describes a block on data nodes with the given ports.
func blockOn(length int, ports ...int) string {
	one := block("1", length, ports[0])
	start := strings.Index(one, `"locs":[`) + len(`"locs":[`)
	var nodes []string
	for _, port := range ports {
		other := block("1", length, port)
		nodes = append(nodes, strings.TrimSuffix(other[start:], "]}"))
	}
	return one[:start] + strings.Join(nodes, ",") + "]}"
}

// TestChecksum expects what Hadoop shows: the algorithm, the bytes per CRC, the CRCs per
// block, which are 0 for a single block, and the MD5 of the block's MD5 and as many
// zeros.
func TestChecksum(t *testing.T) {
	fileSum := md5.Sum(append(blockSum[:], make([]byte, 16)...))
	const refusal = `{"status":"ERROR","message":"no such block"}`
	for name, tt := range map[string]struct {
		nodes []string // the data nodes' answers; "" for a dead node
		want  string   // without the MD5
		is    error
	}{
		"CRC-32C":          {[]string{checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])}, "MD5-of-0MD5-of-512CRC32C:000002000000000000000000", nil},
		"CRC-32":           {[]string{checksumAnswer(`,"crcType":"CHECKSUM_CRC32"`, 4096, blockSum[:])}, "MD5-of-0MD5-of-4096CRC32:000010000000000000000000", nil},
		"second node":      {[]string{refusal, checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])}, "MD5-of-0MD5-of-512CRC32C:000002000000000000000000", nil},
		"one is dead":      {[]string{"", checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])}, "MD5-of-0MD5-of-512CRC32C:000002000000000000000000", nil},
		"refused":          {[]string{refusal}, "", store.ErrUnavailable},
		"all are dead":     {[]string{"", ""}, "", store.ErrUnavailable},
		"no checksum":      {[]string{`{"status":"SUCCESS","message":"long enough"}`}, "", syscall.ENOTSUP},
		"no type":          {[]string{checksumAnswer("", 512, blockSum[:])}, "", syscall.ENOTSUP},
		"no CRCs":          {[]string{checksumAnswer(`,"crcType":"CHECKSUM_NULL"`, 512, blockSum[:])}, "", syscall.ENOTSUP},
		"CRCs of 0 bytes":  {[]string{checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 0, blockSum[:])}, "", syscall.ENOTSUP},
		"composite, no MD": {[]string{checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:4])}, "", syscall.ENOTSUP},
	} {
		t.Run(name, func(t *testing.T) {
			var ports []int
			for _, says := range tt.nodes {
				if says == "" {
					ports = append(ports, 1) // no process listens there
					continue
				}
				d := newDataNode(t, "")
				d.checksum = says
				ports = append(ports, d.port())
			}
			_, s := newNameNode(t, readAnswers(5, 0).with("getBlockLocations", blockLocations(5, false, true, blockOn(5, ports...))))
			got, err := store.CapabilitiesOf(s).Checksum(storetest.Bounded(t), "/f")
			want := tt.want
			if want != "" {
				want += fmt.Sprintf("%x", fileSum)
			}
			if got != want || !errors.Is(err, tt.is) {
				t.Errorf("got %q, %v; want %q, %v", got, err, want, tt.is)
			}
		})
	}
}

// TestNoChecksum has files without a checksum.
func TestNoChecksum(t *testing.T) {
	d := newDataNode(t, "")
	d.checksum = checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])
	one := block("1", 5, d.port())
	for name, tt := range map[string]struct {
		answers answers
		is      error
	}{
		"empty":         {readAnswers(0, 0).with("getBlockLocations", blockLocations(0, false, true)), errors.ErrUnsupported},
		"two blocks":    {readAnswers(10, 0).with("getBlockLocations", blockLocations(10, false, true, one, one)), errors.ErrUnsupported},
		"no replica":    {readAnswers(5, 0).with("getBlockLocations", blockLocations(5, false, true, strings.Split(one, `"locs"`)[0]+`"locs":[]}`)), errors.ErrUnsupported},
		"gone":          {readAnswers(5, d.port()).with("getFileInfo", `{}`), store.ErrNotExist},
		"a directory":   {readAnswers(0, 0).with("getFileInfo", dirInfo), store.ErrNotRegular},
		"striped":       {readAnswers(5, d.port()).with("getFileInfo", info(statusJSON("IS_FILE", "", 5, `,"flags":4`))), store.ErrErasureCoded},
		"being written": {readAnswers(5, d.port()).with("getBlockLocations", blockLocations(5, true, false, one)), store.ErrBeingWritten},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, tt.answers)
			if sum, err := s.checksum(storetest.Bounded(t), "/f"); sum != "" || !errors.Is(err, tt.is) {
				t.Errorf("got %q, %v", sum, err)
			}
		})
	}
}

// TestChecksumThenRead reads a file with the session of a checksum.
func TestChecksumThenRead(t *testing.T) {
	d := newDataNode(t, "hello")
	d.checksum = checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])
	_, s := newNameNode(t, readAnswers(5, d.port()))
	for range 2 {
		if sum, err := s.checksum(storetest.Bounded(t), "/f"); sum == "" || err != nil {
			t.Errorf("got %q, %v", sum, err)
		}
		if data, err := s.ReadFile(storetest.Bounded(t), "/f", 5); err != nil || string(data) != "hello" {
			t.Errorf("read %q, %v", data, err)
		}
	}
}

// TestEncryptedChecksum fails without waiting for an answer.
func TestEncryptedChecksum(t *testing.T) {
	const message = "\x12\x10qop=\"auth-conf,x\""
	if got, err := negotiate(t, "privacy", new(checksums), string(rune(len(message)))+message); !errors.Is(err, errors.ErrUnsupported) || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestChecksumAfterNegotiation checks that only the first message after a negotiation is
// read as a checksum.
func TestChecksumAfterNegotiation(t *testing.T) {
	sums := new(checksums)
	sent := "\x0e\x12\x0cqop=\"auth,x\"\x02\x08\x00" +
		string(appendMessage(jsonMessage("hadoop.hdfs.BlockOpResponseProto", checksumAnswer(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])), nil)) + "more"
	got, err := negotiate(t, "", sums, sent)
	if got != sent || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v; sent were %q", got, err, sent)
	}
	if sums.answers != 1 || !strings.HasPrefix(sums.sum, "MD5-of-0MD5-of-512CRC32C:") {
		t.Errorf("%+v", sums)
	}
}
