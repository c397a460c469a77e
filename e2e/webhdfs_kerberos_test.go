package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// TestKerberosTokens uses a secure cluster, whose data nodes encrypt what they
// send each other, with delegation tokens that hardly live.
func TestKerberosTokens(t *testing.T) {
	hadooptest.NeedKerberos(t)
	k, err := hadooptest.StartKDC(t.Context(), t.TempDir())
	must(t, err)
	t.Cleanup(k.Stop)
	c := hadooptest.New(t, hadooptest.Config{DataNodes: 1, Kerberos: k, HDFS: map[string]string{
		"dfs.data.transfer.protection":                 "privacy",
		"dfs.namenode.delegation.token.renew-interval": "6000",
		"dfs.namenode.delegation.token.max-lifetime":   "15000",
	}})
	t.Setenv("HADOOP_CONF_DIR", c.ConfDir())
	t.Setenv("KRB5_CONFIG", k.Conf())
	t.Setenv("KRB5CCNAME", "FILE:"+filepath.Join(t.TempDir(), "none"))
	secure := secureCluster{c, k}

	t.Run("keytab", secure.testKeytab)
	t.Run("ticket cache", secure.testTicketCache)
	t.Run("no credentials", secure.testNoCredentials)
	t.Run("token file", secure.testTokenFile)
	t.Run("tokens expire", secure.testExpiry)
	t.Run("stranger", secure.testStranger)
}

type secureCluster struct {
	*hadooptest.Cluster
	kdc *hadooptest.KDC
}

// login returns the configuration and a login with a new keytab of a principal.
func (c secureCluster) login(t *testing.T, principal string) (*cluster.Conf, *cluster.Login) {
	t.Helper()
	keytab, err := c.kdc.Keytab(t.Context(), principal)
	must(t, err)
	return loadedLogin(t, cluster.LoginOptions{Principal: principal, Keytab: keytab})
}

func loadedLogin(t *testing.T, o cluster.LoginOptions) (*cluster.Conf, *cluster.Login) {
	t.Helper()
	conf, err := cluster.LoadConf()
	must(t, err)
	login, err := cluster.NewLogin(conf, o)
	must(t, err)
	return conf, login
}

// scratch makes a directory for whoever tests.
func (c secureCluster) scratch(t *testing.T) string {
	t.Helper()
	dir := "/" + strings.ReplaceAll(filepath.Base(t.Name()), "_", "-")
	if _, err := c.Java(t.Context(), "org.apache.hadoop.fs.FsShell", "-mkdir", dir); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Java(t.Context(), "org.apache.hadoop.fs.FsShell", "-chmod", "777", dir); err != nil {
		t.Fatal(err)
	}
	return dir
}

// roundTrip writes a file and reads it back.
func roundTrip(ctx context.Context, st store.Store, path string) error {
	data := bytes.Repeat([]byte("secret "), 1<<20/7)
	if err := upload(ctx, st, path, data); err != nil {
		return err
	}
	got, err := st.ReadFile(ctx, path, 1<<20)
	if err == nil && !bytes.Equal(got, data) {
		err = store.ErrMismatch
	}
	return err
}

func (c secureCluster) testKeytab(t *testing.T) {
	conf, login := c.login(t, "alice")
	if err := roundTrip(t.Context(), openWebStore(t, c.WebURI(), conf, login), c.scratch(t)+"/f"); err != nil {
		t.Error(err)
	}
}

func (c secureCluster) testTicketCache(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	must(t, c.kdc.Kinit(t.Context(), "alice", cache))
	t.Setenv("KRB5CCNAME", "FILE:"+cache)
	conf, login := loadedLogin(t, cluster.LoginOptions{})
	if err := roundTrip(t.Context(), openWebStore(t, c.WebURI(), conf, login), c.scratch(t)+"/f"); err != nil {
		t.Error(err)
	}
}

func (c secureCluster) testNoCredentials(t *testing.T) {
	conf, login := loadedLogin(t, cluster.LoginOptions{})
	_, err := openWebStore(t, c.WebURI(), conf, login).Stat(t.Context(), "/")
	if !errors.Is(err, fs.ErrPermission) || store.Classify(err) != store.Final {
		t.Errorf("stat: %v", err)
	}
}

// testTokenFile has no credentials but a file that Hadoop made, until what is in
// it has expired.
func (c secureCluster) testTokenFile(t *testing.T) {
	dir, file := c.scratch(t), filepath.Join(t.TempDir(), "tokens")
	fetch := func() {
		if out, err := c.Java(t.Context(), "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher", file); err != nil {
			t.Fatal(err, out)
		}
	}
	fetch()
	t.Setenv("HADOOP_TOKEN_FILE_LOCATION", file)
	conf, login := loadedLogin(t, cluster.LoginOptions{})
	st := openWebStore(t, c.WebURI(), conf, login)
	// On a busy machine a round trip takes longer than a token lives.
	withNewToken := func(name string) {
		err := roundTrip(t.Context(), st, dir+name+"-0")
		for try := 1; err != nil && try < 5; try++ {
			fetch()
			err = roundTrip(t.Context(), st, fmt.Sprintf("%s%s-%d", dir, name, try))
		}
		must(t, err)
	}
	withNewToken("/f")
	time.Sleep(7 * time.Second)
	_, err := st.Stat(t.Context(), dir)
	if err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("with an expired token: %v", err)
	}
	fetch() // as a scheduler may
	withNewToken("/g")
}

// testExpiry goes on for longer than a token lives unrenewed, and than it lives
// at all, and once after it has died unseen.
func (c secureCluster) testExpiry(t *testing.T) {
	conf, login := c.login(t, "alice")
	st, dir := openWebStore(t, c.WebURI(), conf, login), c.scratch(t)
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(500 * time.Millisecond) {
		if _, err := st.Stat(t.Context(), dir); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(7 * time.Second)
	if err := roundTrip(t.Context(), st, dir+"/f"); err != nil {
		t.Error(err)
	}
}

// testStranger wants a user without Kerberos to be told so at once.
func (c secureCluster) testStranger(t *testing.T) {
	// The answer may be lost, because the name node hangs up at once.
	st := store.WithRetry(rpcStore(t, c.Cluster, "alice", 1, nil), store.Patience{Limit: 10 * time.Second})
	for range 3 {
		_, err := st.Stat(t.Context(), "/")
		denied(t, err, "stat", "simple authentication", "hadoop.security.authentication")
	}
}
