package hadooptest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jcmturner/gokrb5/v8/client"
	"github.com/jcmturner/gokrb5/v8/config"
	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/spnego"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Realm is the Kerberos realm of every KDC.
const Realm = "ROWTOCOL.TEST"

// KDC is a private Kerberos server on a loopback port.
type KDC struct {
	dir    string
	env    []string
	server *Daemon
}

// MissingKerberos returns the reason why no KDC can run here, or "".
func MissingKerberos() string {
	return testenv.MissingTools("krb5kdc", "kdb5_util", "kadmin.local", "kinit")
}

// StartKDC starts a KDC that keeps everything in dir. Its tickets are valid for a day, or for
// the shorter time that a client requests, and are accepted only seconds longer.
func StartKDC(ctx context.Context, dir string) (*KDC, error) {
	if why := MissingKerberos(); why != "" {
		return nil, fmt.Errorf("hadooptest: %s", why)
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	k := &KDC{dir: dir}
	k.env = environment("KRB5_CONFIG="+k.Conf(), "KRB5_KDC_PROFILE="+k.path("kdc.conf"))
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	if err := k.configure(address); err != nil {
		return nil, err
	}
	if err := k.tool(ctx, "kdb5_util", "create", "-s", "-P", "secret", "-r", Realm); err != nil {
		return nil, err
	}
	server, _ := testenv.LookPath("krb5kdc")
	k.server = &Daemon{Name: "krb5kdc", path: server, args: []string{"-n"}, env: k.env, log: k.path("krb5kdc.log")}
	if err := k.server.Start(ctx); err != nil {
		return nil, err
	}
	if err := k.wait(ctx, address); err != nil {
		k.Stop()
		return nil, err
	}
	return k, nil
}

func (k *KDC) configure(address string) error {
	client := `[libdefaults]
 default_realm = ` + Realm + `
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
 clockskew = 5
 ticket_lifetime = 1d
 permitted_enctypes = aes256-cts-hmac-sha1-96
[realms]
 ` + Realm + ` = {
  kdc = ` + address + `
 }
[domain_realm]
 localhost = ` + Realm + `
`
	server := `[kdcdefaults]
 kdc_listen = ` + address + `
 kdc_tcp_listen = ` + address + `
[realms]
 ` + Realm + ` = {
  database_name = ` + k.path("principal") + `
  key_stash_file = ` + k.path("stash") + `
  supported_enctypes = aes256-cts-hmac-sha1-96:normal
  max_life = 1d
  max_renewable_life = 7d
 }
`
	if err := os.MkdirAll(k.dir, 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(k.Conf(), []byte(client), 0o666); err != nil {
		return err
	}
	return os.WriteFile(k.path("kdc.conf"), []byte(server), 0o666)
}

func (k *KDC) wait(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		if err := k.server.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("krb5kdc: %w", err)
		case <-time.After(poll):
		}
	}
}

func (k *KDC) path(name string) string { return filepath.Join(k.dir, name) }

// Conf returns the path for KRB5_CONFIG.
func (k *KDC) Conf() string { return k.path("krb5.conf") }

// Stop kills the KDC. Its files remain.
func (k *KDC) Stop() { k.server.Kill() }

// Keytab returns the path of a new keytab with the keys of principals such as "alice" or
// "nn/localhost", which it makes if they do not exist.
func (k *KDC) Keytab(ctx context.Context, principals ...string) (string, error) {
	f, err := os.CreateTemp(k.dir, "*.keytab")
	if err != nil {
		return "", err
	}
	path := f.Name()
	if err := f.Close(); err != nil {
		return "", err
	}
	if err := os.Remove(path); err != nil { // an empty file is not a keytab
		return "", err
	}
	for _, p := range principals {
		if err := k.admin(ctx, "getprinc "+p); err != nil {
			if err := k.admin(ctx, "addprinc -randkey "+p); err != nil {
				return "", err
			}
		}
		if err := k.admin(ctx, "ktadd -norandkey -k "+path+" "+p); err != nil {
			return "", err
		}
	}
	return path, nil
}

// Kinit puts a ticket of a principal into a cache file. args are further arguments of kinit,
// such as "-r", "1h" for a renewable ticket.
func (k *KDC) Kinit(ctx context.Context, principal, cache string, args ...string) error {
	keytab, err := k.Keytab(ctx, principal)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(keytab) }()
	return k.kinit(ctx, keytab, principal, cache, args...)
}

func (k *KDC) kinit(ctx context.Context, keytab, principal, cache string, args ...string) error {
	return k.tool(ctx, "kinit", append(args, "-k", "-t", keytab, "-c", "FILE:"+cache, principal)...)
}

// admin runs a command of kadmin.local, which exits 0 even after an error.
func (k *KDC) admin(ctx context.Context, command string) error {
	out, err := k.run(ctx, "kadmin.local", "-r", Realm, "-q", command)
	for _, complaint := range []string{"get_principal:", "add_principal:", "kadmin.local:"} {
		if err == nil && strings.Contains(out, complaint) {
			err = fmt.Errorf("%s: %s", command, out)
		}
	}
	return err
}

func (k *KDC) tool(ctx context.Context, name string, args ...string) error {
	_, err := k.run(ctx, name, args...)
	return err
}

func (k *KDC) run(ctx context.Context, name string, args ...string) (string, error) {
	path, err := testenv.LookPath(name)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = k.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s", name, err, tail(out))
	}
	return string(out), err
}

// authenticate adds the credentials of the name node, a superuser.
func (k *KDC) authenticate(req *http.Request, path string) error {
	conf, err := config.Load(k.Conf())
	if err != nil {
		return err
	}
	keys, err := keytab.Load(path)
	if err != nil {
		return err
	}
	user := client.NewWithKeytab("nn/localhost", Realm, keys, conf, client.DisablePAFXFAST(true))
	defer user.Destroy()
	return spnego.SetSPNEGOHeader(user, req, "HTTP/localhost")
}

// configureKerberos makes the cluster secure.
func (c *Cluster) configureKerberos(ctx context.Context, core, hdfs properties) error {
	k := c.config.Kerberos
	services := []string{"nn/localhost", "dn/localhost", "HTTP/localhost"}
	if c.config.YARN > 0 {
		services = append(services, "rm/localhost", "nm/localhost")
	}
	keytab, err := k.Keytab(ctx, services...)
	if err != nil {
		return err
	}
	c.keytab = keytab
	core["hadoop.security.authentication"] = "kerberos"
	core["hadoop.security.authorization"] = "true"
	core["hadoop.security.auth_to_local"] = "RULE:[2:$1@$0]([ndr][nm]@" + Realm + ")s/.*/" + superuser() + "/\nDEFAULT"
	for _, service := range []string{"namenode", "datanode"} {
		hdfs["dfs."+service+".kerberos.principal"] = service[:1] + "n/localhost@" + Realm
		hdfs["dfs."+service+".keytab.file"] = keytab
	}
	hdfs["dfs.web.authentication.kerberos.principal"] = "HTTP/localhost@" + Realm
	hdfs["dfs.web.authentication.kerberos.keytab"] = keytab
	core["hadoop.http.authentication.type"] = "kerberos"
	core["hadoop.http.authentication.kerberos.principal"] = "HTTP/localhost@" + Realm
	core["hadoop.http.authentication.kerberos.keytab"] = keytab
	hdfs["dfs.block.access.token.enable"] = "true"
	hdfs["dfs.data.transfer.protection"] = "authentication"
	hdfs["ignore.secure.ports.for.testing"] = "true" // else data nodes require a port below 1024
	return nil
}

// secureYARN makes YARN secure. Containers still run as the user of the node manager: the
// executor that changes the user is a native program, which Maven does not have.
func (c *Cluster) secureYARN(site, jobs properties) {
	for _, service := range []string{"resourcemanager", "nodemanager"} {
		site["yarn."+service+".principal"] = service[:1] + "m/localhost@" + Realm
		site["yarn."+service+".keytab"] = c.keytab
	}
	for _, flags := range []string{"mapreduce.admin.map.child.java.opts", "yarn.app.mapreduce.am.admin-command-opts"} {
		jobs[flags] += " " + c.config.Kerberos.javaFlag()
	}
}

// javaFlag returns the flag for a Java program that uses the KDC.
func (k *KDC) javaFlag() string { return "-Djava.security.krb5.conf=" + k.Conf() }
