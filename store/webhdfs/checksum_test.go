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

func summed(algorithm, bytes string) string { return summedOf(len(bytes)/2, algorithm, bytes) }

func summedOf(length int, algorithm, bytes string) string {
	return fmt.Sprintf(`{"FileChecksum":{"algorithm":%q,"bytes":%q,"length":%d}}`, algorithm, bytes, length)
}

// TestChecksum asks the data node that the name node leads to, or a gateway.
func TestChecksum(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want string
		is   error
	}{
		"CRC-32C":         {summed("MD5-of-0MD5-of-512CRC32C", sumBytes), "MD5-of-0MD5-of-512CRC32C:" + sumBytes, nil},
		"CRC-32":          {summed("MD5-of-3MD5-of-4096CRC32", sumBytes), "MD5-of-3MD5-of-4096CRC32:" + sumBytes, nil},
		"composite":       {summed("COMPOSITE-CRC32C", "deadbeef"), "COMPOSITE-CRC32C:deadbeef", nil},
		"in its buffer":   {summedOf(28, "MD5-of-0MD5-of-512CRC32C", sumBytes+"00000000"), "MD5-of-0MD5-of-512CRC32C:" + sumBytes, nil},
		"too short":       {summedOf(29, "MD5-of-0MD5-of-512CRC32C", sumBytes), "", store.ErrUnavailable},
		"negative":        {summedOf(-1, "MD5-of-0MD5-of-512CRC32C", sumBytes), "", store.ErrUnavailable},
		"of no CRCs":      {summed("MD5-of-0MD5-of-512NULL", sumBytes), "", syscall.ENOTSUP},
		"of an empty one": {summed("MD5-of-0MD5-of-0CRC32", sumBytes), "", syscall.ENOTSUP},
		"no bytes":        {summed("COMPOSITE-CRC32C", ""), "", syscall.ENOTSUP},
		"not hexadecimal": {summed("COMPOSITE-CRC32C", "deadbeeg"), "", syscall.ENOTSUP},
		"too long":        {summed("COMPOSITE-CRC32C", strings.Repeat("ab", 1000)), "", syscall.ENOTSUP},
		"null":            {`{"FileChecksum":null}`, "", syscall.ENOTSUP},
		"nothing":         {``, "", store.ErrUnavailable},
		"no JSON":         {`<html>`, "", store.ErrUnavailable},
	} {
		for _, by := range []string{"node", "gateway"} {
			t.Run(name+", "+by, func(t *testing.T) {
				a := answers{"GETFILESTATUS": {aFile}, "GET_BLOCK_LOCATIONS": {located(7, 1, false, true)}, "GETFILECHECKSUM": {"node"}}
				if by == "gateway" {
					a["GETFILECHECKSUM"] = []string{tt.text}
				}
				_, s := newNameNode(t, a, func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Query().Get("op") != "GETFILECHECKSUM" {
						t.Errorf("the data node was asked for %s", r.URL)
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

// TestNoChecksum has files of which there is none, and servers that give none.
func TestNoChecksum(t *testing.T) {
	sound := func() answers {
		return answers{"GETFILESTATUS": {aFile}, "GET_BLOCK_LOCATIONS": {located(7, 1, false, true)}, "GETFILECHECKSUM": {"node"}}
	}
	whole := summed("MD5-of-0MD5-of-512CRC32C", sumBytes)
	for name, tt := range map[string]struct {
		answers answers
		code    int // of the data node
		text    string
		is      error
	}{
		"gone":              {sound().with("GETFILESTATUS", notFound), 200, whole, store.ErrNotExist},
		"a directory":       {sound().with("GETFILESTATUS", aDir), 200, whole, store.ErrNotRegular},
		"is written":        {sound().with("GET_BLOCK_LOCATIONS", located(7, 1, true, false)), 200, whole, store.ErrBeingWritten},
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
