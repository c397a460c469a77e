package cluster

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// kdc is a key distribution center of its own realm, on a free port.
type kdc struct {
	t       *testing.T
	dir     string
	port    int
	env     []string
	cmd     *exec.Cmd
	stopped chan struct{} // closed when it ended
}

// startKDC makes a realm and starts its distribution center. For the rest of the test,
// KRB5_CONFIG names it, and KRB5CCNAME names a cache that does not exist.
func startKDC(t *testing.T) *kdc {
	t.Helper()
	if missing := testenv.MissingTools("krb5kdc", "kadmin.local", "kdb5_util", "kinit"); missing != "" {
		testenv.Skip(t, missing+" (Debian: krb5-kdc krb5-admin-server krb5-user)")
	}
	dir := t.TempDir()
	k := &kdc{t: t, dir: dir, port: freePort(t)}
	k.write("kdc.conf", fmt.Sprintf(`[kdcdefaults]
 kdc_listen = 127.0.0.1:%[2]d
 kdc_tcp_listen = 127.0.0.1:%[2]d
[realms]
 EXAMPLE.COM = {
  database_name = %[1]s/principal
  key_stash_file = %[1]s/stash
  acl_file = %[1]s/acl
  max_renewable_life = 1d
  supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha256-128:normal
 }
`, dir, k.port))
	testenv.Must(t, os.Mkdir(filepath.Join(dir, "krb5.d"), 0o700))
	k.write("krb5.d/realm.conf", fmt.Sprintf("[realms]\n EXAMPLE.COM = {\n  kdc = 127.0.0.1:%[1]d\n  kdc = localhost:%[1]d\n }\n", k.port))
	k.write("krb5.conf", fmt.Sprintf(`includedir %s/krb5.d
[libdefaults]
 default_realm = EXAMPLE.COM
 dns_lookup_kdc = false
 rdns = false
 default_ccache_name = KEYRING:persistent:%%{uid}
[domain_realm]
 localhost = EXAMPLE.COM
`, dir))
	k.env = append(os.Environ(), "KRB5_CONFIG="+dir+"/krb5.conf", "KRB5_KDC_PROFILE="+dir+"/kdc.conf", "KRB5CCNAME=")
	t.Setenv("KRB5_CONFIG", dir+"/krb5.conf")
	t.Setenv("KRB5CCNAME", "FILE:"+k.path("cache"))
	k.run("kdb5_util", "create", "-s", "-P", "secret", "-r", "EXAMPLE.COM")
	k.admin("addprinc -randkey HTTP/localhost")
	k.start()
	t.Cleanup(k.stop)
	return k
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port
}

func (k *kdc) path(name string) string { return filepath.Join(k.dir, name) }

func (k *kdc) write(name, text string) {
	k.t.Helper()
	if err := os.WriteFile(k.path(name), []byte(text), 0o600); err != nil {
		k.t.Fatal(err)
	}
}

func (k *kdc) run(name string, args ...string) {
	k.t.Helper()
	cmd := k.command(name, args...)
	if out, err := cmd.CombinedOutput(); err != nil {
		k.t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
	}
}

func (k *kdc) command(name string, args ...string) *exec.Cmd {
	k.t.Helper()
	path, err := testenv.LookPath(name)
	if err != nil {
		k.t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Env = slices.Clone(k.env)
	return cmd
}

func (k *kdc) admin(query string) {
	k.t.Helper()
	k.run("kadmin.local", "-r", "EXAMPLE.COM", "-q", query)
}

// principal makes a principal, whose tickets are valid for life, and its keytab.
func (k *kdc) principal(name string, life time.Duration) (keytab string) {
	k.t.Helper()
	k.admin(fmt.Sprintf(`addprinc -randkey +requires_preauth -maxrenewlife "1 day" %s`, name))
	k.setLife(name, life)
	keytab = k.path(strings.ReplaceAll(name, "/", "_") + ".keytab")
	k.admin(fmt.Sprintf("ktadd -k %s %s", keytab, name))
	return keytab
}

// setLife changes how long new tickets of a principal are valid.
func (k *kdc) setLife(name string, life time.Duration) {
	k.t.Helper()
	k.admin(fmt.Sprintf(`modify_principal -maxlife "%d seconds" %s`, int(life.Seconds()), name))
}

// kinit fills the cache.
func (k *kdc) kinit(keytab, principal string, args ...string) {
	k.t.Helper()
	k.run("kinit", append(args, "-k", "-t", keytab, "-c", "FILE:"+k.path("cache"), principal)...)
}

func (k *kdc) start() {
	k.t.Helper()
	var log bytes.Buffer
	k.cmd = k.command("krb5kdc", "-n", "-r", "EXAMPLE.COM")
	k.cmd.Env = append(k.cmd.Env, "KRB5_TRACE=")
	k.cmd.Stdout, k.cmd.Stderr = &log, &log
	k.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started, stopped := make(chan error), make(chan struct{})
	go func() {
		// The signal comes when the thread that started the process ends.
		runtime.LockOSThread()
		started <- k.cmd.Start()
		if k.cmd.Process != nil {
			_ = k.cmd.Wait()
		}
		close(stopped)
	}()
	if err := <-started; err != nil {
		k.t.Fatal(err)
	}
	k.stopped = stopped
	for range 100 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", k.port))
		if err == nil {
			_ = c.Close()
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	k.stop()
	k.t.Fatalf("krb5kdc does not listen\n%s", log.String())
}

func (k *kdc) stop() {
	_ = k.cmd.Process.Kill()
	<-k.stopped
}

func (k *kdc) signal(s os.Signal) {
	k.t.Helper()
	if err := k.cmd.Process.Signal(s); err != nil {
		k.t.Fatal(err)
	}
}

// wantTicket checks that a client of the login gets a ticket for a service. It returns
// the end of the ticket-granting ticket.
func wantTicket(ctx context.Context, t *testing.T, l *Login) time.Time {
	t.Helper()
	c, err := l.Kerberos(ctx)
	testenv.Must(t, err)
	if _, _, err := c.GetServiceTicket("HTTP/localhost"); err != nil {
		t.Fatal(err)
	}
	l.tickets.busy <- struct{}{}
	defer func() { <-l.tickets.busy }()
	return l.tickets.current.end
}
