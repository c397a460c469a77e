package cluster

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/iana/etypeID"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestLoadRealms(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		// As on a Red Hat system: includes come first, outside of all sections.
		"krb5.conf": `# comment
includedir ` + dir + `/krb5.conf.d/
includedir ` + dir + `/not-there

[logging]
    default = FILE:/var/log/krb5libs.log

[libdefaults]
    default_realm = FIRST.EXAMPLE.COM
    default_realm = SECOND.EXAMPLE.COM
    ticket_lifetime = 10h
    renew_lifetime = 7d
    rdns = off
    dns_lookup_kdc = off
    forwardable = true
    default_tgs_enctypes = aes256-cts, aes128-cts
    default_tkt_enctypes = nothing-known
    FIRST.EXAMPLE.COM = {
        ticket_lifetime = 1h
    }
    default_ccache_name = "KEYRING:persistent:%{uid}"

[realms]*
 FIRST.EXAMPLE.COM = {
   kdc = kdc1.example.com
   kdc = kdc2.example.com:8888*
   kdc = [::1]
   admin_server = kdc1.example.com
   auth_to_local = RULE:[1:$1@$0](.*{2}@X;#)s/@.*//
   auth_to_local_names = {
     kdc = someone
   }
 }

[domain_realm]
 .example.com = FIRST.EXAMPLE.COM
 Host.example.com = SECOND.EXAMPLE.COM
include ` + dir + `/extra
`,
		"krb5.conf.d/crypto-policies": "[libdefaults]\npermitted_enctypes = aes256-cts-hmac-sha1-96 aes256-cts-hmac-sha384-192\n",
		"krb5.conf.d/realm.conf":      "[realms]\nSECOND.EXAMPLE.COM = {\n kdc = second.example.com\n}\n",
		"krb5.conf.d/backup.conf~":    "[libdefaults]\ndefault_realm = WRONG\n",
		"krb5.conf.d/.hidden.conf":    "[libdefaults]\ndefault_realm = WRONG\n",
		"extra":                       "[realms]\nFIRST.EXAMPLE.COM = {\n kdc = kdc3.example.com\n}\n",
		"other":                       "[libdefaults]\nclockskew = 60\nticket_lifetime = 1\n",
	})
	t.Setenv("KRB5_CONFIG", strings.Join([]string{dir + "/missing", dir + "/krb5.conf", dir + "/other"}, ":"))
	r, err := loadRealms()
	testenv.Must(t, err)
	d := r.config.LibDefaults
	if d.DefaultRealm != "FIRST.EXAMPLE.COM" || d.TicketLifetime != 10*time.Hour || d.RenewLifetime != 0 ||
		d.Clockskew != time.Minute || d.DNSLookupKDC {
		t.Errorf("got %+v", d)
	}
	if r.cacheName != "KEYRING:persistent:%{uid}" {
		t.Errorf("cache %q", r.cacheName)
	}
	permitted := []int32{etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES256_CTS_HMAC_SHA384_192}
	if !slices.Equal(d.PermittedEnctypeIDs, permitted) || !slices.Equal(d.DefaultTktEnctypeIDs, permitted) ||
		!slices.Equal(d.DefaultTGSEnctypeIDs, []int32{etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA1_96}) {
		t.Errorf("encryption types %v, %v, %v", d.PermittedEnctypeIDs, d.DefaultTktEnctypeIDs, d.DefaultTGSEnctypeIDs)
	}
	for realm, want := range map[string]string{
		"FIRST.EXAMPLE.COM":  "kdc1.example.com:88 kdc2.example.com:8888 [::1]:88 kdc3.example.com:88",
		"SECOND.EXAMPLE.COM": "second.example.com:88",
	} {
		if got := kdcs(r.config, realm); got != want {
			t.Errorf("%s: %s, want %s", realm, got, want)
		}
	}
	for host, want := range map[string]string{"a.example.com": "FIRST.EXAMPLE.COM", "host.example.com": "SECOND.EXAMPLE.COM", "b": ""} {
		if got := r.config.ResolveRealm(host); got != want {
			t.Errorf("%s is in realm %q, want %q", host, got, want)
		}
	}
}

func kdcs(c *config.Config, realm string) string {
	for _, r := range c.Realms {
		if r.Realm == realm {
			return strings.Join(r.KDC, " ")
		}
	}
	return ""
}

func TestRealmsDefaults(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{"krb5.conf": ""})
	t.Setenv("KRB5_CONFIG", dir+"/krb5.conf")
	r, err := loadRealms()
	testenv.Must(t, err)
	d := r.config.LibDefaults
	if !d.DNSLookupKDC || !slices.Contains(d.DefaultTktEnctypeIDs, etypeID.AES256_CTS_HMAC_SHA384_192) {
		t.Errorf("got %+v", d)
	}
}

// TestClientsShareNoConfiguration checks that a client that changes its configuration changes no other.
func TestClientsShareNoConfiguration(t *testing.T) {
	r := &realms{config: config.New()}
	addKDC(r.config, "R", "a")
	addKDC(r.config, "R", "b")
	r.library().Realms[0].KDC[0] = "changed"
	if got := kdcs(r.config, "R"); got != "a:88 b:88" {
		t.Errorf("got %s", got)
	}
}

func TestRealmsErrors(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"self":    "include " + dir + "/self\n",
		"nothing": "include " + dir + "/none\n",
		"outside": "default_realm = X\n",
		"word":    "[libdefaults]\ndefault_realm\n",
		"brace":   "[realms]\n}\n",
		"skew":    "[libdefaults]\nclockskew = soon\n",
		"module":  "module /lib/x.so:y\n",
	})
	for name, says := range map[string]string{
		"self": "without end", "nothing": "nothing: open", "outside": "outside of all sections", "word": "not a setting", "brace": "without {",
		"skew": "clockskew", "module": "module", "none": "KRB5_CONFIG",
	} {
		t.Setenv("KRB5_CONFIG", filepath.Join(dir, name))
		if _, err := loadRealms(); err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v, want one that says %q", name, err, says)
		}
	}
}

func FuzzProfile(f *testing.F) {
	f.Add("[libdefaults]\ndefault_realm = X\n[realms]\nX = {\n kdc = h\n}\n")
	f.Add("[a]\nb = {\nc = \"d\"\n}\n}")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "include") {
			return // it could read files of this machine
		}
		p := profile{}
		if err := p.parse("krb5.conf", text, 0); err == nil {
			_, _ = p.realms()
		}
	})
}
