package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"

	pq "github.com/parquet-go/parquet-go/format"

	"github.com/rowtocol/rowtocol/format/damage"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksumsKey has, in the footer's metadata, the checksums of the table of checksums and of the
// footer; doc.go has their form.
const checksumsKey = "rowtocol.crc"

// createdBy names this writer in the footer. Java's readers ignore the bounds of strings
// unless the text has this form. It has no version of the program, because the same rows give
// the same bytes.
const createdBy = "rowtocol version 1"

// checksums is the table of checksums of a file that is being written.
type checksums struct{ table []byte }

// add adds a header or an index.
func (s *checksums) add(b []byte) {
	s.table = binary.LittleEndian.AppendUint32(s.table, crc32.Checksum(b, castagnoli))
}

// checksumsText returns the value of checksumsKey. Its length does not depend on the checksums.
func checksumsText(table []byte, footer uint32) string {
	return fmt.Sprintf(checksumsForm, len(table), crc32.Checksum(table, castagnoli), footer)
}

const checksumsForm = "table %d %08x footer %08x"

// footerDigits is the number of digits of the footer's checksum, the last ones of checksumsText.
const footerDigits = 8

// footer returns the bytes of the footer, with the checksums of the table and of the footer itself.
func (s *checksums) footer(meta *pq.FileMetaData) ([]byte, error) {
	text := checksumsText(s.table, 0)
	meta.KeyValueMetadata = append(meta.KeyValueMetadata, pq.KeyValue{Key: checksumsKey, Value: text})
	footer, err := marshal(meta)
	if err != nil {
		return nil, err
	}
	end := bytes.LastIndex(footer, []byte(text)) + len(text)
	copy(footer[end-footerDigits:end], fmt.Appendf(nil, "%08x", crc32.Checksum(footer, castagnoli)))
	return footer, nil
}

// isOther reports whether createdBy names another writer, which may have copied the metadata
// of a file. A change of one byte does not make another writer's name of ours.
func isOther(name string) bool {
	const compared = 4
	return len(name) >= compared && name[:compared] != createdBy[:compared] &&
		name[len(name)-compared:] != createdBy[len(createdBy)-compared:]
}

// footerChecksums is what a footer says of the checksums in its file.
type footerChecksums struct {
	size int64 // bytes of the table; -1 if the file has none
	crc  uint32
}

// readChecksums checks the footer against its own checksum, and returns what it says of the table.
// A file of another writer has neither.
func readChecksums(file string, offset int64, footer []byte, meta *pq.FileMetaData) (footerChecksums, error) {
	text := ""
	for _, kv := range meta.KeyValueMetadata {
		if kv.Key == checksumsKey {
			text = kv.Value
		}
	}
	if isOther(meta.CreatedBy) {
		return footerChecksums{size: -1}, nil
	}
	// A change of one byte can hide fields, but it leaves one of these texts.
	ours := bytes.Contains(footer, []byte(checksumsKey)) || bytes.Contains(footer, []byte(createdBy))
	//guard: detects that the checksums were hidden
	if text == "" && ours {
		return footerChecksums{}, damage.New(damage.Header, file, offset, "the footer has no %s", checksumsKey)
	}
	if text == "" {
		return footerChecksums{size: -1}, nil
	}
	var s footerChecksums
	var want uint32
	_, err := fmt.Sscanf(text, checksumsForm, &s.size, &s.crc, &want)
	//guard: rejects checksums in another form
	if err != nil || s.size < 0 || text != fmt.Sprintf(checksumsForm, s.size, s.crc, want) {
		return footerChecksums{}, damage.New(damage.Header, file, offset, "%s is %q", checksumsKey, text)
	}
	zeroed := bytes.Clone(footer)
	end := bytes.LastIndex(zeroed, []byte(text)) + len(text)
	copy(zeroed[end-footerDigits:end], "00000000")
	//guard: detects a changed footer
	if got := crc32.Checksum(zeroed, castagnoli); got != want {
		return footerChecksums{}, damage.New(damage.Checksum, file, offset, "the footer has the CRC-32C %08x, expected %08x", got, want)
	}
	return s, nil
}
