package hadoop

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store/cluster"
)

func TestLoginEnviron(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	keys := keytab.New()
	testenv.Must(t, keys.AddEntry("alice", "R", "secret", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96))
	data, err := keys.Marshal()
	testenv.Must(t, err)
	for name, text := range map[string]string{"keytab": string(data), "krb5.conf": "[libdefaults]\n default_realm = R\n"} {
		testenv.Must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	conf := filepath.Join(dir, "krb5.conf")
	t.Setenv("KRB5_CONFIG", conf)
	t.Setenv("KRB5CCNAME", "FILE:/tickets")
	t.Setenv("HADOOP_USER_NAME", "")
	const secure, simple = "kerberos", "simple"
	option := "HADOOP_CLIENT_OPTS=-Djava.security.krb5.conf=" + conf
	for _, tt := range []struct {
		name, method string
		o            cluster.LoginOptions
		env, want    string
	}{
		{"keytab", secure, cluster.LoginOptions{Keytab: "keytab"}, "A=B KRB5_CONFIG=none:krb5.conf KRB5CCNAME=x",
			"A=B KRB5_CONFIG=none:krb5.conf KRB5CCNAME=x KRB5PRINCIPAL=alice@R KRB5KEYTAB=" + dir + "/keytab " + option},
		{"tickets", secure, cluster.LoginOptions{}, "KRB5PRINCIPAL=bob KRB5KEYTAB=bobs", "KRB5CCNAME=/tickets"},
		{"tickets of a principal", secure, cluster.LoginOptions{Principal: "alice"}, "", "KRB5PRINCIPAL=alice KRB5CCNAME=/tickets"},
		{"other options", secure, cluster.LoginOptions{}, "HADOOP_CLIENT_OPTS=-Xmx1g KRB5_CONFIG=" + conf,
			"KRB5_CONFIG=" + conf + " KRB5CCNAME=/tickets HADOOP_CLIENT_OPTS=-Xmx1g -Djava.security.krb5.conf=" + conf},
		{"option set already", secure, cluster.LoginOptions{}, "HADOOP_OPTS=-Djava.security.krb5.conf=x KRB5_CONFIG=" + conf,
			"HADOOP_OPTS=-Djava.security.krb5.conf=x KRB5_CONFIG=" + conf + " KRB5CCNAME=/tickets"},
		{"no such files", secure, cluster.LoginOptions{}, "KRB5_CONFIG=none", "KRB5_CONFIG=none KRB5CCNAME=/tickets"},
		{"for another user", secure, cluster.LoginOptions{}, "HADOOP_PROXY_USER=bob", "KRB5CCNAME=/tickets"},
		{"not secure", simple, cluster.LoginOptions{User: "etl"}, "HADOOP_USER_NAME=bob KRB5KEYTAB=x", "KRB5KEYTAB=x HADOOP_USER_NAME=etl"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			login, err := cluster.NewLogin(cluster.NewConf(map[string]string{"hadoop.security.authentication": tt.method}), tt.o)
			testenv.Must(t, err)
			defer login.Close()
			env := strings.Fields(tt.env)
			before := slices.Clone(env)
			if got := strings.Join(loginEnviron(env, login), " "); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
			if !slices.Equal(env, before) {
				t.Errorf("the argument was changed to %v", env)
			}
		})
	}
}
