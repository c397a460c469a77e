package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strings"
)

// Every document ends with its checksum, in the last field of its JSON object: the CRC-32C of
// all bytes before the digits, as eight hexadecimal digits. Only documentEnd follows them.
const (
	checksumField  = ",\n  \"crc32c\": \""
	checksumDigits = 8
	documentEnd    = "\"\n}\n"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// encode returns the JSON of a document with its checksum.
func encode(v any) ([]byte, error) {
	b, err := encodeJSON(v)
	if err != nil {
		return nil, err
	}
	b = append(bytes.TrimSuffix(b, []byte("\n}\n")), checksumField...)
	return fmt.Appendf(b, "%08x%s", crc32.Checksum(b, castagnoli), documentEnd), nil
}

// encodeJSON returns indented JSON that ends with a newline. Struct fields keep
// their order and map keys are sorted, so equal documents have equal bytes.
func encodeJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// decode reads a document of this version, and ignores fields that v does not have.
func decode(what string, b []byte, v any) error {
	_, err := verify(b)
	if err == nil {
		err = json.Unmarshal(b, v)
	}
	return inDocument(what, err)
}

// decodeKnown reads a document of this version, and refuses fields that v does not have.
func decodeKnown(what string, b []byte, v any) error {
	body, err := verify(b)
	if err != nil {
		return inDocument(what, err)
	}
	d := json.NewDecoder(io.MultiReader(bytes.NewReader(body), strings.NewReader("}")))
	//guard: rejects fields that it does not know
	d.DisallowUnknownFields()
	err = d.Decode(v)
	if err != nil && json.Unmarshal(b, v) == nil {
		return fmt.Errorf("%s: a newer program made it, or it was altered (%w): this program does not know all of its fields: %w", what, ErrVersion, err)
	}
	//guard: rejects bytes after the document
	if err == nil && d.InputOffset() <= int64(len(body)) {
		err = errors.New("something follows it")
	}
	return inDocument(what, err)
}

// verify checks the checksum and the version of a document, and returns the bytes before the
// checksum's field.
func verify(b []byte) (body []byte, err error) {
	sealed, ended := bytes.CutSuffix(b, []byte(documentEnd))
	n := len(sealed) - checksumDigits
	//guard: rejects a document that was cut short, or that another program wrote
	if !ended || n < 0 || !bytes.HasSuffix(sealed[:n], []byte(checksumField)) {
		return nil, fmt.Errorf("%w: it does not end with a checksum", ErrAltered)
	}
	sum := fmt.Sprintf("%08x", crc32.Checksum(sealed[:n], castagnoli))
	//guard: rejects a document with a changed byte
	if digits := string(sealed[n:]); digits != sum {
		return nil, fmt.Errorf("%w: its CRC-32C is %s, but it says %s", ErrAltered, sum, digits)
	}
	version, err := versionOf(b)
	if err != nil {
		return nil, err
	}
	//guard: rejects a document of another version
	if version != Version {
		return nil, fmt.Errorf("%w: it has %d, this program knows %d", ErrVersion, version, Version)
	}
	return sealed[:n-len(checksumField)], nil
}

// versionOf reads only the version. A newer document may not fit the types of this program, and
// the error must say that the document is too new.
func versionOf(b []byte) (version int, err error) {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err = d.Token(); err != nil {
		return 0, err
	}
	for d.More() {
		key, err := d.Token()
		if err == nil && key == "version" {
			err = d.Decode(&version)
			return version, err
		}
		var skipped json.RawMessage
		if err == nil {
			err = d.Decode(&skipped)
		}
		if err != nil {
			return 0, err
		}
	}
	return 0, nil
}

func inDocument(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
