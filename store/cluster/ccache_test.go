package cluster

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/types"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// cacheEntry returns an entry of a ticket cache, of client alice.
func cacheEntry(server []string, serverRealm string, end uint32) []byte {
	b := cachePrincipal([]string{"alice"}, "R")
	b = append(b, cachePrincipal(server, serverRealm)...)
	b = append(b, 0, 18)
	b = append(b, lengthPrefixed("key")...)
	for _, at := range []uint32{1000, 0, end, 0} {
		b = binary.BigEndian.AppendUint32(b, at)
	}
	b = append(b, 0, 0, 0, 0, 0)
	b = append(b, 0, 0, 0, 1, 0, 2) // an address
	b = append(b, lengthPrefixed("\x7f\x00\x00\x01")...)
	b = append(b, 0, 0, 0, 0) // authorization data
	b = append(b, lengthPrefixed(fmt.Sprint("ticket ", end))...)
	return append(b, lengthPrefixed("")...)
}

func cachePrincipal(names []string, realm string) []byte {
	b := []byte{0, 0, 0, 1}
	b = binary.BigEndian.AppendUint32(b, uint32(len(names)))
	b = append(b, lengthPrefixed(realm)...)
	for _, name := range names {
		b = append(b, lengthPrefixed(name)...)
	}
	return b
}

func lengthPrefixed(s string) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(s))), s...)
}

func cacheBytes(entries ...[]byte) []byte {
	b := []byte{5, 4, 0, 12, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0}
	b = append(b, cachePrincipal([]string{"alice"}, "R")...)
	for _, e := range entries {
		b = append(b, e...)
	}
	return b
}

func TestParseCache(t *testing.T) {
	late := uint32(4_000_000_000) // in 2096: times are not signed
	data := cacheBytes(
		cacheEntry([]string{"krb5_ccache_conf_data", "pa_type"}, "X-CACHECONF:", 0),
		cacheEntry([]string{"krbtgt", "R"}, "R", 2000),
		cacheEntry([]string{"krbtgt", "R"}, "R", late),
		cacheEntry([]string{"krbtgt", "OTHER"}, "R", late+1),
		cacheEntry([]string{"krbtgt", "R"}, "OTHER", late+2),
		cacheEntry([]string{"nn", "host"}, "R", late+3))
	got, err := parseCache(data)
	testenv.Must(t, err)
	if got.String() != "alice@R" || !got.end.Equal(time.Unix(int64(late), 0)) || string(got.raw) != fmt.Sprint("ticket ", late) ||
		string(got.key.KeyValue) != "key" || got.key.KeyType != 18 || got.renewable() {
		t.Errorf("got %+v", got)
	}
	begin := len(cacheBytes())
	sound := map[int]bool{} // a file may end between two entries
	for n := range data {
		if _, err := parseCache(data[:n]); err == nil {
			sound[n] = true
		}
	}
	entry := len(cacheEntry([]string{"krbtgt", "R"}, "R", 2000))
	if len(sound) != 4 || sound[begin] || sound[begin+entry-1] {
		t.Errorf("sound at %v", sound)
	}
	for _, text := range []string{"", "\x05", "\x05\x02", "\x05\x05", "\x05\x04\xff\xff", string(cacheBytes())} {
		if _, err := parseCache([]byte(text)); err == nil {
			t.Errorf("%q is sound", text)
		}
	}
}

func TestCacheFile(t *testing.T) {
	usual := fmt.Sprintf("/tmp/krb5cc_%d", os.Getuid())
	uid := fmt.Sprint(os.Getuid())
	for _, test := range []struct{ env, conf, path, says string }{
		{"", "", usual, ""},
		{"/x/y", "", "/x/y", ""},
		{"FILE:/x/y", "FILE:/other", "/x/y", ""},
		{"/x:y", "", "/x:y", ""},
		{"", "FILE:/run/%{uid}/cc_%{username}", "/run/" + uid + "/cc_" + osUser(), ""},
		{"DIR:/x", "", "", "KRB5CCNAME"},
		{"DIR::/x/tkt", "", "", "DIR::/x/tkt"},
		{"KEYRING:persistent:0", "", "", "not a file"},
		{"KCM:", "", "", "--keytab"},
		{"", "KCM:%{uid}", "", "KCM:"},
		{"", "FILE:%{TEMP}/x", "", "%{TEMP}"},
	} {
		if _, err := os.Stat(usual); err == nil && test.env == "" && test.says != "" {
			continue // and read the file in the usual place
		}
		t.Setenv("KRB5CCNAME", test.env)
		path, err := cacheFile(test.conf)
		if test.says != "" {
			wantRefusal(t, err, test.says)
		} else if err != nil || path != test.path {
			t.Errorf("%q, %q: got %s %v, want %s", test.env, test.conf, path, err, test.path)
		}
	}
}

func TestReadCacheErrors(t *testing.T) {
	_, err := readCache(newSecretFiles(LoginOptions{}), filepath.Join(t.TempDir(), "none"))
	wantRefusal(t, err, "there is no ticket cache")
	_, err = readCache(newSecretFiles(LoginOptions{}), t.TempDir())
	wantRefusal(t, err, "ticket cache")
}

// TestCacheOfAnotherUser has a cache of alice. The principal of the run is given, or known
// from an earlier ticket.
func TestCacheOfAnotherUser(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cache")
	if err := os.WriteFile(path, cacheBytes(cacheEntry([]string{"krbtgt", "R"}, "R", 4_000_000_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5CCNAME", path)
	r := &realms{config: config.New()}
	for name, tt := range map[string]struct {
		want, before string
		says         string // empty: the cache is used
	}{
		"any":               {"", "", ""},
		"the same":          {"alice@R", "", ""},
		"another name":      {"bob@R", "", "not of bob@R"},
		"another realm":     {"alice@S", "", "not of alice@S"},
		"as before":         {"", "alice@R", ""},
		"other than before": {"", "bob@R", "now of alice@R"},
		"of another realm":  {"", "alice@S", "now of alice@R"},
	} {
		t.Run(name, func(t *testing.T) {
			var old *ticket
			if tt.before != "" {
				old = &ticket{}
				old.name, old.realm = types.ParseSPNString(tt.before)
			}
			got, err := (&cacheSource{want: tt.want}).read(r, old)
			if tt.says != "" {
				wantRefusal(t, err, tt.says)
				if got != old {
					t.Errorf("the ticket of %s is used", got)
				}
			} else if err != nil || got.String() != "alice@R" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

func FuzzCache(f *testing.F) {
	f.Add(cacheBytes(cacheEntry([]string{"krbtgt", "R"}, "R", 2000)))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseCache(data)
		if err == nil && !strings.HasSuffix(got.String(), "@"+got.realm) {
			t.Errorf("got %s", got)
		}
	})
}
