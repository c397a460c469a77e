package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func TestSimpleLogin(t *testing.T) {
	simple := NewConf(map[string]string{"hadoop.security.authentication": "SIMPLE"})
	for _, conf := range []*Conf{simple, NewConf(nil)} {
		t.Setenv("HADOOP_USER_NAME", "")
		l, err := NewLogin(conf, LoginOptions{})
		if err != nil || l.User() != osUser() || l.Secure() {
			t.Fatalf("got %+v %v", l, err)
		}
		if _, err := l.Kerberos(context.Background()); err == nil {
			t.Error("a simple login has a Kerberos client")
		}
		l.Close()
		t.Setenv("HADOOP_USER_NAME", "hdfs")
		if l, err := NewLogin(conf, LoginOptions{}); err != nil || l.User() != "hdfs" {
			t.Errorf("HADOOP_USER_NAME: %+v %v", l, err)
		}
		if l, err := NewLogin(conf, LoginOptions{User: "etl"}); err != nil || l.User() != "etl" {
			t.Errorf("a given user: %+v %v", l, err)
		}
	}
	if _, err := simpleLogin("", LoginOptions{}); err == nil || !strings.Contains(err.Error(), "HADOOP_USER_NAME") {
		t.Errorf("a user without a name: %v", err)
	}
	if _, err := NewLogin(simple, LoginOptions{Keytab: "x"}); err == nil || !strings.Contains(err.Error(), "is simple") {
		t.Errorf("a keytab without Kerberos: %v", err)
	}
	token := NewConf(map[string]string{"hadoop.security.authentication": "token"})
	if _, err := NewLogin(token, LoginOptions{}); err == nil || !strings.Contains(err.Error(), "token") {
		t.Errorf("an unknown method: %v", err)
	}
}

// TestLazyLogin checks that a login succeeds without tickets, which a user with tokens does not need.
func TestLazyLogin(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KRB5_CONFIG", dir+"/none")
	t.Setenv("KRB5CCNAME", dir+"/none")
	l := newLogin(t, LoginOptions{Principal: "alice/admin@R"})
	if l.User() != "alice" || !l.Secure() {
		t.Errorf("user %q, secure %v", l.User(), l.Secure())
	}
	_, err := l.Kerberos(context.Background())
	wantRefusal(t, err, "KRB5_CONFIG")

	writeFiles(t, dir, map[string]string{"none": "[libdefaults]\ndefault_realm = R\n"})
	t.Setenv("KRB5CCNAME", "KCM:")
	_, err = l.Kerberos(context.Background())
	wantRefusal(t, err, "KCM:")

	named, err := NewLogin(NewConf(nil), LoginOptions{Principal: "svc/_HOST"})
	if err != nil || !named.Secure() || named.User() != "svc" {
		t.Errorf("a principal alone: %+v %v", named, err)
	}
}

func TestNoDistributionCenter(t *testing.T) {
	k := startKDC(t)
	keytab := k.principal("alice", life)
	k.write("none.conf", "[libdefaults]\ndefault_realm = EXAMPLE.COM\ndns_lookup_kdc = false\n")
	t.Setenv("KRB5_CONFIG", k.path("none.conf"))
	_, err := newLogin(t, LoginOptions{Keytab: keytab}).Kerberos(context.Background())
	wantRefusal(t, err, "krb5.conf")
}

// TestCredentials checks that the result is a keytab's full principal, or the ticket cache's path.
func TestCredentials(t *testing.T) {
	dir := t.TempDir()
	krb5 := filepath.Join(dir, "krb5.conf")
	write := func(name, text string) {
		testenv.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	t.Setenv("KRB5_CONFIG", krb5)
	keys := keytab.New()
	testenv.Must(t, keys.AddEntry("alice", "R", "secret", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96))
	data, err := keys.Marshal()
	testenv.Must(t, err)
	table := filepath.Join(dir, "keytab")
	write(table, string(data))
	for _, tt := range []struct {
		name                     string
		conf                     *Conf
		o                        LoginOptions
		ccname, configured       string
		principal, keytab, cache string
	}{
		{"keytab", secure, LoginOptions{Keytab: table}, "", "", "alice@R", table, ""},
		{"keytab of a principal", secure, LoginOptions{Principal: "alice", Keytab: table}, "FILE:/c", "", "alice@R", table, ""},
		{"cache", secure, LoginOptions{}, "FILE:/c", "", "", "", "/c"},
		{"cache of a principal", secure, LoginOptions{Principal: "alice"}, "/c", "", "alice", "", "/c"},
		{"cache of krb5.conf", secure, LoginOptions{}, "", " default_ccache_name = FILE:/run/%{uid}\n", "", "", fmt.Sprint("/run/", os.Getuid())},
		{"a cache that cannot be read", secure, LoginOptions{}, "KCM:", "", "", "", ""},
		{"not secure", NewConf(nil), LoginOptions{}, "FILE:/c", "", "", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			write(krb5, "[libdefaults]\n default_realm = R\n"+tt.configured)
			t.Setenv("KRB5CCNAME", tt.ccname)
			l, err := NewLogin(tt.conf, tt.o)
			testenv.Must(t, err)
			defer l.Close()
			principal, keytab, cache := l.Credentials()
			if principal != tt.principal || keytab != tt.keytab || cache != tt.cache {
				t.Errorf("%q, %q, %q", principal, keytab, cache)
			}
		})
	}
}
