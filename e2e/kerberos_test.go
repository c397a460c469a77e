package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/user"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
	"github.com/jcmturner/gokrb5/v8/keytab"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

const (
	// life is the life of short-lived tickets, and of delegation tokens without renewal.
	// Services accept a ticket for some seconds longer.
	life   = 20 * time.Second
	beyond = life + 7*time.Second

	transferProtection = "dfs.data.transfer.protection"
	cipherSuites       = "dfs.encrypt.data.transfer.cipher.suites"
	aes                = "AES/CTR/NoPadding"
)

// realm is a secure cluster with a user alice, whose directory has an input.
type realm struct {
	*hadooptest.Cluster
	kdc    *hadooptest.KDC
	sites  map[string]*site // by the client that reads the input
	keytab string           // alice's
}

// newRealm starts a secure cluster with one data node.
func newRealm(t *testing.T, config hadooptest.Config) *realm {
	t.Helper()
	hadooptest.NeedKerberos(t)
	kdc, err := hadooptest.StartKDC(t.Context(), t.TempDir())
	must(t, err)
	t.Cleanup(kdc.Stop)
	cache := filepath.Join(t.TempDir(), "cache")
	must(t, kdc.Kinit(t.Context(), "alice", cache))
	t.Setenv("KRB5_CONFIG", kdc.Conf())
	t.Setenv("KRB5CCNAME", "FILE:"+cache)
	config.DataNodes, config.Kerberos = 1, kdc
	s := newSite(t, hadooptest.New(t, config), 12_000, "--row-group-size=2MiB", "--workers=1", "--store-retry=1m")
	r := &realm{Cluster: s.Cluster, kdc: kdc, sites: map[string]*site{}}
	r.keytab, err = kdc.Keytab(t.Context(), "alice")
	must(t, err)
	for _, op := range []string{"PUT /alice op=MKDIRS", "PUT /alice op=SETOWNER&owner=alice&group=people"} {
		f := strings.Fields(op)
		_, err := s.Do(t.Context(), f[0], f[1], f[2])
		must(t, err)
	}
	data, err := os.ReadFile(s.input)
	must(t, err)
	for client, uri := range s.clients() {
		of := *s
		of.input = uri + "/alice/" + client + ".avro"
		in := s.locate(t, of.input)
		must(t, in.Store.WriteFile(t.Context(), in.Path, data, true))
		dest := uri + "/alice/reference-" + client
		finishInTime(t, command(of.args(dest)...)).want(t, 0)
		// It names the input, which has another location in the local run.
		of.want = maps.Clone(s.want)
		of.want["_SUCCESS"] = s.tree(t, dest)["_SUCCESS"]
		of.wantComplete(t, dest)
		r.sites[client] = &of
	}
	return r
}

// tokens returns the settings of delegation tokens that are valid for life without
// renewal, and for longest with it.
func tokens(life, longest time.Duration) map[string]string {
	return map[string]string{
		"dfs.namenode.delegation.token.renew-interval": fmt.Sprint(life.Milliseconds()),
		"dfs.namenode.delegation.token.max-lifetime":   fmt.Sprint(longest.Milliseconds()),
	}
}

// bearer holds the credentials of a user.
type bearer struct {
	name, user string
	env, flags []string
}

// withKeytab returns alice with her keytab.
func (r *realm) withKeytab(extra ...string) bearer {
	return bearer{
		name: "keytab", user: "alice", env: append([]string{"KRB5CCNAME=FILE:/nonexistent"}, extra...),
		flags: []string{"--principal=alice", "--keytab=" + r.keytab},
	}
}

// withCache returns alice with a new ticket cache.
func (r *realm) withCache(t *testing.T, args ...string) (b bearer, cache string) {
	t.Helper()
	cache = filepath.Join(t.TempDir(), "cache")
	must(t, r.kdc.Kinit(t.Context(), "alice", cache, args...))
	return bearer{name: "ticket cache", user: "alice", env: []string{"KRB5CCNAME=FILE:" + cache}}, cache
}

// convert returns the command of a conversion.
func (b bearer) convert(s *site, dest string, more ...string) *exec.Cmd {
	cmd := command(append(s.args(dest, more...), b.flags...)...)
	cmd.Env = append(cmd.Env, b.env...)
	return cmd
}

// wantOwner fails the test unless a user owns all files of a directory.
func (r *realm) wantOwner(t *testing.T, dir, user string) {
	t.Helper()
	text, err := r.Do(t.Context(), "GET", dir, "op=LISTSTATUS")
	must(t, err)
	var answer struct {
		FileStatuses struct {
			FileStatus []struct{ PathSuffix, Owner string }
		}
	}
	must(t, json.Unmarshal([]byte(text), &answer))
	for _, s := range answer.FileStatuses.FileStatus {
		if s.Owner != user {
			t.Errorf("%s/%s is owned by %s, not by %s", dir, s.PathSuffix, s.Owner, user)
		}
	}
}

// client returns a directory of the cluster's configuration with other properties.
func (r *realm) client(t *testing.T, properties map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(r.ConfDir())))
	reconfigure(t, dir, properties)
	return dir
}

// reconfigure changes a directory of configuration.
func reconfigure(t *testing.T, dir string, properties map[string]string) {
	t.Helper()
	file := filepath.Join(dir, "hdfs-site.xml")
	text, err := os.ReadFile(file)
	must(t, err)
	last := ""
	for name, value := range properties {
		last += "<property><name>" + name + "</name><value>" + value + "</value></property>\n"
	}
	must(t, os.WriteFile(file, []byte(strings.Replace(string(text), "</configuration>", last+"</configuration>", 1)), 0o666))
}

// krb5 returns a file for KRB5_CONFIG with another value of a setting.
func (r *realm) krb5(t *testing.T, key, value string) string {
	t.Helper()
	text, err := os.ReadFile(r.kdc.Conf())
	must(t, err)
	setting := regexp.MustCompile(`(?m)^ +` + key + ` = .*$`)
	if !setting.Match(text) {
		t.Fatalf("krb5.conf has no %s", key)
	}
	file := filepath.Join(t.TempDir(), "krb5.conf")
	must(t, os.WriteFile(file, setting.ReplaceAll(text, []byte(" "+key+" = "+value)), 0o666))
	return file
}

// TestKerberos reads from and writes to a cluster that requires Kerberos.
func TestKerberos(t *testing.T) {
	r := newRealm(t, hadooptest.Config{HDFS: tokens(life, 2*life)})
	suspended := r.suspend(t)
	enough := time.Now().Add(beyond)
	t.Run("credentials", r.credentials)
	t.Run("refusals", r.refusals)
	time.Sleep(time.Until(enough))
	t.Run("expiry", func(t *testing.T) { r.resume(t, suspended) })
	t.Run("tokens", r.expiringTokens)
	t.Run("protection", r.protection)
}

// credentials converts with each kind of credentials.
func (r *realm) credentials(t *testing.T) {
	cached, _ := r.withCache(t)
	for client, s := range r.sites {
		bearers := []bearer{r.withKeytab(), cached}
		if client == "webhdfs" {
			bearers = append([]bearer{r.withToken(t)}, bearers...) // first, because it expires
		}
		for _, b := range bearers {
			t.Run(b.name+" over "+client, func(t *testing.T) {
				dir := path.Join("/alice", strings.ReplaceAll(t.Name(), "/", "-"))
				if b.user != "alice" {
					dir = path.Base(dir)
				}
				dest := s.clients()[client] + path.Join("/", dir)
				finishInTime(t, b.convert(s, dest)).want(t, 0)
				s.wantComplete(t, dest)
				r.wantOwner(t, path.Join("/", dir), b.user)
			})
		}
	}
}

// withToken returns the superuser with nothing but a delegation token, which Hadoop's
// own tool fetched.
func (r *realm) withToken(t *testing.T) bearer {
	t.Helper()
	self, err := user.Current()
	must(t, err)
	file := filepath.Join(t.TempDir(), "token")
	r.fetchToken(t, file)
	return bearer{name: "token", user: self.Username, env: []string{
		"HADOOP_TOKEN_FILE_LOCATION=" + file, "KRB5CCNAME=FILE:/nonexistent", "KRB5_CONFIG=/nonexistent",
	}}
}

func (r *realm) fetchToken(t *testing.T, file string) {
	t.Helper()
	_, err := r.Java(t.Context(), "org.apache.hadoop.hdfs.tools.DelegationTokenFetcher", "--renewer", "stranger", file)
	must(t, err)
}

// webStore returns the store over HTTP with the credentials that a login finds.
func (r *realm) webStore(t *testing.T, o cluster.LoginOptions) store.Store {
	t.Helper()
	conf, err := cluster.LoadConf()
	must(t, err)
	login, err := cluster.NewLogin(conf, o)
	must(t, err)
	return openWebStore(t, r.WebURI(), conf, login)
}

// forge writes a key table with a key that no distribution center knows.
func forge(t *testing.T, principal, realm string) string {
	t.Helper()
	keys := keytab.New()
	must(t, keys.AddEntry(principal, realm, "guess", time.Now(), 1, etypeID.AES256_CTS_HMAC_SHA1_96))
	data, err := keys.Marshal()
	must(t, err)
	file := filepath.Join(t.TempDir(), "forged.keytab")
	must(t, os.WriteFile(file, data, 0o600))
	return file
}

// refusals checks that refusals end at once with one line. Only a distribution center that
// is missing may come back.
func (r *realm) refusals(t *testing.T) {
	const none = "KRB5CCNAME=FILE:/nonexistent"
	conf := func(properties map[string]string) string { return "HADOOP_CONF_DIR=" + r.client(t, properties) }
	with := func(principal, keytab string) []string {
		return []string{"--principal=" + principal, "--keytab=" + keytab}
	}
	expired, _ := r.withCache(t, "-l", "1s")
	time.Sleep(time.Second)
	for _, c := range []struct {
		name   string
		client string // only this one
		host   string // in the destination's location; default localhost
		bearer
		code int
		says []string
	}{
		{name: "no credentials", bearer: bearer{env: []string{none}}, code: 7, says: []string{"/nonexistent", "kinit", "--keytab"}},
		{name: "expired ticket", bearer: expired, code: 7, says: []string{"alice@" + hadooptest.Realm, "expired", "kinit", "--keytab"}},
		{name: "no keytab", bearer: bearer{flags: with("alice", "/nonexistent")}, code: 7, says: []string{"/nonexistent"}},
		{name: "another's keytab", bearer: bearer{flags: with("bob", r.keytab)}, code: 7, says: []string{"bob@" + hadooptest.Realm, r.keytab}},
		{name: "unknown principal", bearer: bearer{flags: with("mallory", forge(t, "mallory", hadooptest.Realm))}, code: 7, says: []string{"mallory@" + hadooptest.Realm}},
		{name: "wrong key", bearer: bearer{flags: with("alice", forge(t, "alice", hadooptest.Realm))}, code: 7, says: []string{"alice@" + hadooptest.Realm}},
		{name: "wrong realm", bearer: bearer{flags: with("alice@OTHER.TEST", forge(t, "alice", "OTHER.TEST"))}, code: 7, says: []string{"OTHER.TEST"}},
		{name: "no krb5.conf", bearer: bearer{env: []string{"KRB5_CONFIG=/nonexistent"}}, code: 7, says: []string{"/nonexistent"}},
		{
			name: "no distribution center", code: 4, says: []string{hadooptest.Realm},
			bearer: r.withKeytab("KRB5_CONFIG=" + r.krb5(t, "kdc", "127.0.0.1:1")),
		},
		{
			name: "unknown service", client: "hdfs", code: 7, says: []string{"absent/localhost"},
			bearer: bearer{env: []string{conf(map[string]string{"dfs.namenode.kerberos.principal": "absent/localhost@" + hadooptest.Realm})}},
		},
		{
			name: "unknown web service", client: "webhdfs", host: "127.0.0.1", code: 7, says: []string{"HTTP/127.0.0.1"},
			bearer: bearer{env: []string{"KRB5CCNAME=" + os.Getenv("KRB5CCNAME")}},
		},
		{
			name: "another's service", client: "hdfs", code: 7, says: []string{"alice"},
			bearer: bearer{env: []string{conf(map[string]string{"dfs.namenode.kerberos.principal": "alice@" + hadooptest.Realm})}},
		},
		{
			name: "simple client", code: 7, says: []string{"authenti"},
			bearer: bearer{env: []string{conf(map[string]string{"hadoop.security.authentication": "simple"})}},
		},
		{
			name: "integrity", client: "hdfs", code: 7, says: []string{transferProtection + "=integrity", "webhdfs://"},
			bearer: bearer{env: []string{conf(map[string]string{transferProtection: "integrity"})}},
		},
		{
			name: "privacy", client: "hdfs", code: 7, says: []string{transferProtection + "=privacy", "webhdfs://"},
			bearer: bearer{env: []string{conf(map[string]string{transferProtection: "privacy"})}},
		},
		{
			name: "not her directory", code: 7, says: []string{"alice", "/stranger"},
			bearer: bearer{env: []string{"KRB5CCNAME=" + os.Getenv("KRB5CCNAME")}},
		},
	} {
		for client, s := range r.sites {
			if c.client != "" && c.client != client {
				continue
			}
			t.Run(c.name+" over "+client, func(t *testing.T) {
				name := "/alice/refused"
				if c.name == "not her directory" {
					name = "/stranger"
				}
				dest := s.clients()[client] + name
				if c.host != "" {
					dest = strings.Replace(dest, "localhost", c.host, 1)
				}
				cmd := command(append([]string{"convert", "--store-retry=1s", s.input, dest}, c.flags...)...)
				cmd.Env = append(cmd.Env, c.env...)
				result := finishInTime(t, cmd).want(t, c.code)
				lines := result.complaints()
				result.stderr = lines[len(lines)-1] // the others report waiting
				// A name node that refuses closes the connection at once. A client that
				// still writes may find it broken before it reads the refusal, and
				// retries.
				if c.code == 7 && len(lines) != 1 && !(len(lines) == 2 && brokenConnection.MatchString(lines[0])) {
					t.Errorf("the conversion waited\n%s", strings.Join(lines, "\n"))
				}
				result.wantComplaint(t, c.says...)
			})
		}
	}
}

var brokenConnection = regexp.MustCompile(`broken pipe|connection reset by peer`)

// outlasting is a conversion that outlasts its credentials.
type outlasting struct {
	name   string
	client string
	phase  phase    // it is suspended in this phase
	kinit  []string // arguments; nil is a keytab
	again  bool     // kinit runs meanwhile
	wakes  bool     // it runs for moments while its ticket can be renewed
	code   int

	cache string
	dest  string
	run   *running
}

// between is the phase after the first part and before the next.
var between = phase{"between uploads", func(_, work []store.Info) bool { return has(work, "task-", ".json") }}

// seconds is life in the form of kinit and krb5.conf.
var seconds = fmt.Sprintf("%ds", int(life.Seconds()))

// suspend starts conversions during which tickets and delegation tokens expire.
func (r *realm) suspend(t *testing.T) []*outlasting {
	short := r.krb5(t, "ticket_lifetime", seconds)
	var cases []*outlasting
	for i, client := range []string{"hdfs", "webhdfs"} {
		for j := range soak.Rounds(1, 2) {
			first, second := phases[0], between
			if (i+j)%2 == 1 {
				first, second = second, first
			}
			cases = append(cases,
				&outlasting{name: "keytab", client: client, phase: first},
				&outlasting{name: "kinit", client: client, phase: second, kinit: []string{"-l", seconds}, again: true})
		}
		cases = append(cases,
			&outlasting{name: "renewal", client: client, phase: phases[0], kinit: []string{"-l", seconds, "-r", "1h"}, wakes: true},
			&outlasting{name: "no renewal", client: client, phase: between, kinit: []string{"-l", seconds}, code: 7})
	}
	for i, c := range cases {
		s, b := r.sites[c.client], r.withKeytab("KRB5_CONFIG="+short)
		if c.kinit != nil {
			b, c.cache = r.withCache(t, c.kinit...)
		}
		began := time.Now()
		c.dest = fmt.Sprintf("%s/alice/expiry-%d", s.clients()[c.client], i)
		c.run = launch(t, b.convert(s, c.dest))
		s.suspendIn(t, c.run, c.dest, c.phase)
		if c.wakes {
			go c.run.wake(t, began)
		}
	}
	return cases
}

// resume lets the conversions end.
func (r *realm) resume(t *testing.T, cases []*outlasting) {
	for _, c := range cases {
		if c.again {
			must(t, r.kdc.Kinit(t.Context(), "alice", c.cache, c.kinit...))
		}
		if !c.wakes {
			must(t, c.run.cmd.Process.Signal(syscall.SIGCONT))
		}
	}
	for _, c := range cases {
		t.Run(c.name+" over "+c.client, func(t *testing.T) { r.checkOutlasting(t, c) })
	}
}

func (r *realm) checkOutlasting(t *testing.T, c *outlasting) {
	s := r.sites[c.client]
	code := c.code
	if <-c.run.ended; c.run.cmd.ProcessState.ExitCode() == 0 {
		code = 0 // open connections need no ticket, and may suffice
	}
	c.run.want(t, code)
	if code == 0 {
		s.wantComplete(t, c.dest)
		return
	}
	s.wantNothing(t, c.dest)
	finishInTime(t, r.withKeytab().convert(s, c.dest)).want(t, 0)
	s.wantComplete(t, c.dest)
}

// wake resumes a suspended conversion for some moments before its ticket expires, which it
// has since the given time, and for good after that.
func (r *running) wake(t *testing.T, since time.Time) {
	time.Sleep(time.Until(since.Add(4 * life / 5)))
	for range 4 {
		_ = r.cmd.Process.Signal(syscall.SIGCONT) // the waiting goroutine reports if it ended
		time.Sleep(30 * time.Millisecond)
		_ = r.cmd.Process.Signal(syscall.SIGSTOP)
		time.Sleep(400 * time.Millisecond)
	}
	time.Sleep(time.Until(since.Add(5 * life / 4)))
	select {
	case <-r.ended:
		t.Log("a conversion ended before its ticket did") // on a fast machine
	default:
	}
	_ = r.cmd.Process.Signal(syscall.SIGCONT)
}

// protected is a way in which a data node protects its transfers.
type protected struct {
	level, suites string
	clients       []string          // those that can read it
	config        map[string]string // of a client that requires another level
	says          string
}

// protection sets the data node's protection of transfers to levels that the library
// supports, and to others.
func (r *realm) protection(t *testing.T) {
	cases := []protected{
		{
			level: "integrity,authentication", clients: []string{"hdfs", "webhdfs"}, // each client chooses another
			config: map[string]string{transferProtection: "privacy", cipherSuites: aes}, says: "not by privacy",
		},
		{
			level: "privacy", clients: []string{"webhdfs"},
			config: map[string]string{cipherSuites: aes}, says: "has no AES",
		},
		{
			level: "privacy", suites: aes, clients: []string{"hdfs"},
			config: map[string]string{transferProtection: "authentication"}, says: "by privacy, not by authentication",
		},
	}
	if soak.Full() {
		cases = append(cases, protected{level: "integrity", clients: []string{"webhdfs"}},
			protected{level: "privacy", suites: aes, clients: []string{"webhdfs"}})
	}
	for _, p := range cases {
		reconfigure(t, r.ConfDir(), map[string]string{transferProtection: p.level, cipherSuites: p.suites})
		r.restart(t)
		name := strings.TrimSpace(p.level + " " + p.suites)
		for _, client := range p.clients {
			t.Run(name+" over "+client, func(t *testing.T) {
				dir := "/alice/" + strings.ReplaceAll(path.Join(client, p.level, p.suites), "/", "-")
				s := r.sites[client]
				finishInTime(t, r.withKeytab().convert(s, s.clients()[client]+dir)).want(t, 0)
				s.wantComplete(t, s.WebURI()+dir) // the test itself needs no protection over HTTP
				if client == "hdfs" {
					r.checksums(t, dir, p.level == "privacy")
				}
			})
		}
		if p.config == nil {
			continue
		}
		t.Run(name+", unexpected", func(t *testing.T) {
			cmd := command("convert", r.sites["hdfs"].input, filepath.Join(t.TempDir(), "out"))
			cmd.Env = append(cmd.Env, "HADOOP_CONF_DIR="+r.client(t, p.config))
			finishInTime(t, cmd).want(t, 7).wantComplaint(t, p.says)
		})
	}
}

// restart restarts the data node, and waits until it serves a read.
func (r *realm) restart(t *testing.T) {
	t.Helper()
	r.DataNodes[0].Kill()
	must(t, r.DataNodes[0].Start(t.Context()))
	var err error
	for end := time.Now().Add(3 * time.Minute); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if _, err = r.Do(t.Context(), "GET", "/alice/hdfs.avro", "op=OPEN&length=1"); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// finishInTime runs a conversion. If that hangs, it prints its goroutines and ends.
func finishInTime(t *testing.T, cmd *exec.Cmd) result {
	t.Helper()
	hang := time.AfterFunc(3*time.Minute, func() { _ = cmd.Process.Signal(syscall.SIGQUIT) })
	defer hang.Stop()
	return finish(t, cmd)
}
