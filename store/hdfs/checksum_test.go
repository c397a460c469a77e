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

// summed is a data node's answer to who asks for the checksum of a block.
func summed(crcs string, unit int, sum []byte) string {
	return fmt.Sprintf(`{"status":"SUCCESS","checksumResponse":{"bytesPerCrc":%d,"crcPerBlock":3,"blockChecksum":%q%s}}`,
		unit, base64.StdEncoding.EncodeToString(sum), crcs)
}

// among gives a block data nodes of these ports.
func among(length int, ports ...int) string {
	one := block("1", length, ports[0])
	start := strings.Index(one, `"locs":[`) + len(`"locs":[`)
	var nodes []string
	for _, port := range ports {
		other := block("1", length, port)
		nodes = append(nodes, strings.TrimSuffix(other[start:], "]}"))
	}
	return one[:start] + strings.Join(nodes, ",") + "]}"
}

// TestChecksum is what Hadoop shows: the algorithm, how many bytes a CRC is of,
// how many CRCs a block has, which is told of several blocks only, and an MD5 of
// the block's with as many zeros.
func TestChecksum(t *testing.T) {
	fileSum := md5.Sum(append(blockSum[:], make([]byte, 16)...))
	const refusal = `{"status":"ERROR","message":"no such block"}`
	for name, tt := range map[string]struct {
		nodes []string // what the block's data nodes say; "" of one that is dead
		want  string   // without the MD5
		is    error
	}{
		"CRC-32C":          {[]string{summed(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])}, "MD5-of-0MD5-of-512CRC32C:000002000000000000000000", nil},
		"CRC-32":           {[]string{summed(`,"crcType":"CHECKSUM_CRC32"`, 4096, blockSum[:])}, "MD5-of-0MD5-of-4096CRC32:000010000000000000000000", nil},
		"from another":     {[]string{refusal, summed(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])}, "MD5-of-0MD5-of-512CRC32C:000002000000000000000000", nil},
		"one is dead":      {[]string{"", summed(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])}, "MD5-of-0MD5-of-512CRC32C:000002000000000000000000", nil},
		"refused":          {[]string{refusal}, "", store.ErrUnavailable},
		"all are dead":     {[]string{"", ""}, "", store.ErrUnavailable},
		"no answer in it":  {[]string{`{"status":"SUCCESS","message":"long enough"}`}, "", syscall.ENOTSUP},
		"no type":          {[]string{summed("", 512, blockSum[:])}, "", syscall.ENOTSUP},
		"no CRCs":          {[]string{summed(`,"crcType":"CHECKSUM_NULL"`, 512, blockSum[:])}, "", syscall.ENOTSUP},
		"CRCs of nothing":  {[]string{summed(`,"crcType":"CHECKSUM_CRC32C"`, 0, blockSum[:])}, "", syscall.ENOTSUP},
		"composite, no MD": {[]string{summed(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:4])}, "", syscall.ENOTSUP},
	} {
		t.Run(name, func(t *testing.T) {
			var ports []int
			for _, says := range tt.nodes {
				if says == "" {
					ports = append(ports, 1) // nobody's
					continue
				}
				d := newDataNode(t, "")
				d.checksum = says
				ports = append(ports, d.port())
			}
			_, s := newNameNode(t, stored(5, 0).with("getBlockLocations", located(5, false, true, among(5, ports...))))
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

// TestNoChecksum has files of which there is none, for one reason or another.
func TestNoChecksum(t *testing.T) {
	d := newDataNode(t, "")
	d.checksum = summed(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])
	one := block("1", 5, d.port())
	for name, tt := range map[string]struct {
		answers answers
		is      error
	}{
		"empty":       {stored(0, 0).with("getBlockLocations", located(0, false, true)), errors.ErrUnsupported},
		"two blocks":  {stored(10, 0).with("getBlockLocations", located(10, false, true, one, one)), errors.ErrUnsupported},
		"no replica":  {stored(5, 0).with("getBlockLocations", located(5, false, true, strings.Split(one, `"locs"`)[0]+`"locs":[]}`)), errors.ErrUnsupported},
		"gone":        {stored(5, d.port()).with("getFileInfo", `{}`), store.ErrNotExist},
		"a directory": {stored(0, 0).with("getFileInfo", aDir), store.ErrNotRegular},
		"striped":     {stored(5, d.port()).with("getFileInfo", info(aStatus("IS_FILE", "", 5, `,"flags":4`))), store.ErrErasureCoded},
		"is written":  {stored(5, d.port()).with("getBlockLocations", located(5, true, false, one)), store.ErrBeingWritten},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, tt.answers)
			if sum, err := s.checksum(storetest.Bounded(t), "/f"); sum != "" || !errors.Is(err, tt.is) {
				t.Errorf("got %q, %v", sum, err)
			}
		})
	}
}

// TestChecksumThenRead uses a session again, which reads what it is sent.
func TestChecksumThenRead(t *testing.T) {
	d := newDataNode(t, "hello")
	d.checksum = summed(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])
	_, s := newNameNode(t, stored(5, d.port()))
	for range 2 {
		if sum, err := s.checksum(storetest.Bounded(t), "/f"); sum == "" || err != nil {
			t.Errorf("got %q, %v", sum, err)
		}
		if data, err := s.ReadFile(storetest.Bounded(t), "/f", 5); err != nil || string(data) != "hello" {
			t.Errorf("read %q, %v", data, err)
		}
	}
}

// TestEncryptedChecksum is not waited for.
func TestEncryptedChecksum(t *testing.T) {
	const message = "\x12\x10qop=\"auth-conf,x\""
	if got, err := negotiate(t, "privacy", new(checksums), string(rune(len(message)))+message); !errors.Is(err, errors.ErrUnsupported) || got != "" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestChecksumAfterNegotiation is looked at where the library reads it, and only
// the first message is.
func TestChecksumAfterNegotiation(t *testing.T) {
	asked := new(checksums)
	sent := "\x0e\x12\x0cqop=\"auth,x\"\x02\x08\x00" +
		string(appendMessage(jsonMessage("hadoop.hdfs.BlockOpResponseProto", summed(`,"crcType":"CHECKSUM_CRC32C"`, 512, blockSum[:])), nil)) + "more"
	got, err := negotiate(t, "", asked, sent)
	if got != sent || !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %q, %v; sent were %q", got, err, sent)
	}
	if asked.answers != 1 || !strings.HasPrefix(asked.sum, "MD5-of-0MD5-of-512CRC32C:") {
		t.Errorf("%+v", asked)
	}
}
