package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rowtocol/rowtocol/internal/wire"
)

// cacheFile returns the path of the user's ticket cache: KRB5CCNAME, else
// default_ccache_name of krb5.conf, else /tmp/krb5cc_ and the user's id. Only caches in files
// can be read. If krb5.conf names another kind of cache, a file in the usual place is used, as
// in Java.
func cacheFile(configured string) (string, error) {
	if name := os.Getenv("KRB5CCNAME"); name != "" {
		path, ok := filePath(name)
		if !ok {
			return "", credentialsErrorf("the ticket cache %s (KRB5CCNAME) is not a file, and only files can be read: "+
				"kinit -c FILE:/some/path and set KRB5CCNAME to that, or use --keytab", name)
		}
		return path, nil
	}
	usual := fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())
	if configured == "" {
		return usual, nil
	}
	path, ok := filePath(expandCacheName(configured))
	if ok && !strings.Contains(path, "%{") {
		return path, nil
	}
	if _, err := os.Stat(usual); err == nil {
		return usual, nil
	}
	return "", credentialsErrorf("the ticket cache %s (default_ccache_name) is not a file, and only files can be read: "+
		"kinit -c FILE:%s, or use --keytab", configured, usual)
}

func expandCacheName(name string) string {
	return strings.NewReplacer(
		"%{uid}", strconv.Itoa(os.Getuid()),
		"%{euid}", strconv.Itoa(os.Geteuid()),
		"%{USERID}", strconv.Itoa(os.Getuid()),
		"%{username}", osUser(),
	).Replace(name)
}

// filePath returns the path of a cache's name, if the cache is a file.
func filePath(name string) (string, bool) {
	kind, rest, typed := strings.Cut(name, ":")
	switch {
	case !typed || strings.Contains(kind, "/"):
		return name, true
	case strings.EqualFold(kind, "FILE"):
		return rest, true
	}
	return "", false
}

// readCache returns the ticket-granting ticket of a cache's owner that is valid for longest.
func readCache(files *secretFiles, path string) (*ticket, error) {
	data, err := files.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, credentialsErrorf("there is no ticket cache %s: kinit, or use --keytab", path)
	}
	if err != nil {
		return nil, credentialsErrorf("ticket cache: %v", err)
	}
	t, err := parseCache(data)
	if err != nil {
		return nil, credentialsErrorf("ticket cache %s: %v: kinit, or use --keytab", path, err)
	}
	return t, nil
}

// parseCache parses versions 3 and 4 of the format, which cover the last 25 years.
func parseCache(data []byte) (*ticket, error) {
	s := &cacheReader{wire.New(data, 0)}
	version := s.uint16()
	switch version {
	case 0x0503:
	case 0x0504:
		s.Bytes(int64(s.uint16()), "a header") // clock offset of a distribution center
	default:
		return nil, errors.New("not a file of Kerberos tickets")
	}
	name, realm := s.principal()
	if err := s.Err(); err != nil {
		return nil, err
	}
	var best *ticket
	for s.Remaining() > 0 {
		t, granting := s.credential(version, realm)
		//guard: rejects a ticket that is cut short
		if err := s.Err(); err != nil {
			return nil, err
		}
		if granting && t.name.Equal(name) && t.realm == realm && (best == nil || t.end.After(best.end)) {
			best = t
		}
	}
	if best == nil {
		return nil, fmt.Errorf("no ticket-granting ticket of %s@%s in it", name.PrincipalNameString(), realm)
	}
	return best, nil
}

// cacheReader reads the parts of a ticket cache.
type cacheReader struct{ wire.Cursor }

func (s *cacheReader) uint16() uint16 { return uint16(s.BigEndian(2, "a number")) }
func (s *cacheReader) uint32() uint32 { return uint32(s.BigEndian(4, "a number")) }
func (s *cacheReader) data() []byte   { return s.Bytes(int64(s.uint32()), "data") }

func (s *cacheReader) principal() (types.PrincipalName, string) {
	name := types.PrincipalName{NameType: int32(s.uint32())}
	components := s.uint32()
	realm := string(s.data())
	for i := uint32(0); i < components && s.Err() == nil; i++ {
		name.NameString = append(name.NameString, string(s.data()))
	}
	return name, realm
}

// credential reads one entry, and reports whether it grants tickets in realm.
func (s *cacheReader) credential(version uint16, realm string) (t *ticket, granting bool) {
	t = &ticket{}
	t.name, t.realm = s.principal()
	server, serverRealm := s.principal()
	t.key.KeyType = int32(int16(s.uint16()))
	if version == 0x0503 {
		s.uint16() // the type again
	}
	t.key.KeyValue = s.data()
	t.auth, t.start, t.end, t.renewTill = s.time(), s.time(), s.time(), s.time()
	s.Bytes(1+4, "flags") // a byte that says whose the key is, and flags
	for range 2 {         // addresses, authorization data
		for i := s.uint32(); i > 0 && s.Err() == nil; i-- {
			s.uint16()
			s.data()
		}
	}
	t.raw = s.data()
	s.data() // second ticket
	return t, serverRealm == realm && server.Equal(ticketService(realm))
}

// time reads a time. If it is absent, the result is the zero time.
func (s *cacheReader) time() time.Time {
	if seconds := s.uint32(); seconds != 0 {
		return time.Unix(int64(seconds), 0).UTC()
	}
	return time.Time{}
}
