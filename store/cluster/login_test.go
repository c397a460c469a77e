package cluster

import (
	"context"
	"strings"
	"testing"
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
			t.Errorf("a user who is named: %+v %v", l, err)
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

// TestLazyLogin holds since who has delegation tokens needs no tickets.
func TestLazyLogin(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("KRB5_CONFIG", dir+"/none")
	t.Setenv("KRB5CCNAME", dir+"/none")
	l := newLogin(t, LoginOptions{Principal: "alice/admin@R"})
	if l.User() != "alice" || !l.Secure() {
		t.Errorf("user %q, secure %v", l.User(), l.Secure())
	}
	_, err := l.Kerberos(context.Background())
	isRefused(t, err, "KRB5_CONFIG")

	writeFiles(t, dir, map[string]string{"none": "[libdefaults]\ndefault_realm = R\n"})
	t.Setenv("KRB5CCNAME", "KCM:")
	_, err = l.Kerberos(context.Background())
	isRefused(t, err, "KCM:")

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
	isRefused(t, err, "krb5.conf")
}
