package webhdfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

const sumBytes = "0000020000000000000000009a8ff1f1e6e5f1ab3ab0b2a24e6cbdb5"

func checksumJSON(algorithm, bytes string) string {
	return checksumJSONOf(len(bytes)/2, algorithm, bytes)
}

func checksumJSONOf(length int, algorithm, bytes string) string {
	return fmt.Sprintf(`{"FileChecksum":{"algorithm":%q,"bytes":%q,"length":%d}}`, algorithm, bytes, length)
}

// TestChecksum asks the data node to which the name node redirects, or a gateway.
func TestChecksum(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want string
		is   error
	}{
		"CRC-32C":         {checksumJSON("MD5-of-0MD5-of-512CRC32C", sumBytes), "MD5-of-0MD5-of-512CRC32C:" + sumBytes, nil},
		"CRC-32":          {checksumJSON("MD5-of-3MD5-of-4096CRC32", sumBytes), "MD5-of-3MD5-of-4096CRC32:" + sumBytes, nil},
		"composite":       {checksumJSON("COMPOSITE-CRC32C", "deadbeef"), "COMPOSITE-CRC32C:deadbeef", nil},
		"longer buffer":   {checksumJSONOf(28, "MD5-of-0MD5-of-512CRC32C", sumBytes+"00000000"), "MD5-of-0MD5-of-512CRC32C:" + sumBytes, nil},
		"too short":       {checksumJSONOf(29, "MD5-of-0MD5-of-512CRC32C", sumBytes), "", store.ErrUnavailable},
		"negative":        {checksumJSONOf(-1, "MD5-of-0MD5-of-512CRC32C", sumBytes), "", store.ErrUnavailable},
		"of no CRCs":      {checksumJSON("MD5-of-0MD5-of-512NULL", sumBytes), "", syscall.ENOTSUP},
		"of an empty one": {checksumJSON("MD5-of-0MD5-of-0CRC32", sumBytes), "", syscall.ENOTSUP},
		"no bytes":        {checksumJSON("COMPOSITE-CRC32C", ""), "", syscall.ENOTSUP},
		"not hexadecimal": {checksumJSON("COMPOSITE-CRC32C", "deadbeeg"), "", syscall.ENOTSUP},
		"too long":        {checksumJSON("COMPOSITE-CRC32C", strings.Repeat("ab", 1000)), "", syscall.ENOTSUP},
		"null":            {`{"FileChecksum":null}`, "", syscall.ENOTSUP},
		"nothing":         {``, "", store.ErrUnavailable},
		"no JSON":         {`<html>`, "", store.ErrUnavailable},
	} {
		for _, by := range []string{"node", "gateway"} {
			t.Run(name+", "+by, func(t *testing.T) {
				a := answers{"GETFILESTATUS": {smallFile}, "GET_BLOCK_LOCATIONS": {blockLocations(7, 1, false, true)}, "GETFILECHECKSUM": {"node"}}
				if by == "gateway" {
					a["GETFILECHECKSUM"] = []string{tt.text}
				}
				_, s := newNameNode(t, a, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Get("op") != "GETFILECHECKSUM" {
						t.Errorf("the data node got a request for %s", r.URL)
					}
					_, _ = io.WriteString(w, tt.text)
				})
				got, err := store.CapabilitiesOf(s).Checksum(storetest.Bounded(t), "/d/f")
				if got != tt.want || !errors.Is(err, tt.is) || tt.is == nil && err != nil {
					t.Errorf("got %q, %v; want %q, %v", got, err, tt.want, tt.is)
				}
			})
		}
	}
}

// TestNoChecksum has files without a checksum, and servers that do not return one.
func TestNoChecksum(t *testing.T) {
	sound := func() answers {
		return answers{"GETFILESTATUS": {smallFile}, "GET_BLOCK_LOCATIONS": {blockLocations(7, 1, false, true)}, "GETFILECHECKSUM": {"node"}}
	}
	whole := checksumJSON("MD5-of-0MD5-of-512CRC32C", sumBytes)
	for name, tt := range map[string]struct {
		answers answers
		code    int // of the data node
		text    string
		is      error
	}{
		"gone":              {sound().with("GETFILESTATUS", notFound), 200, whole, store.ErrNotExist},
		"a directory":       {sound().with("GETFILESTATUS", dirStatus), 200, whole, store.ErrNotRegular},
		"being written":     {sound().with("GET_BLOCK_LOCATIONS", blockLocations(7, 1, true, false)), 200, whole, store.ErrBeingWritten},
		"too old":           {sound().with("GETFILECHECKSUM", "UnsupportedOperationException: no"), 200, whole, errors.ErrUnsupported},
		"the node refuses":  {sound(), 403, remote("AccessControlException", "denied"), fs.ErrPermission},
		"the node fails":    {sound(), 502, whole, store.ErrUnavailable},
		"a name node fails": {sound().with("GETFILECHECKSUM", "hang up"), 200, whole, store.ErrUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newNameNode(t, tt.answers, alwaysAnswers(tt.code, tt.text))
			if got, err := s.checksum(storetest.Bounded(t), "/d/f"); got != "" || !errors.Is(err, tt.is) {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}
