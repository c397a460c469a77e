package hadooptest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// nameservice is the name of a pair of name nodes.
const nameservice = "pair"

// Config describes a cluster.
type Config struct {
	Version    string // version of Hadoop: "" for the newest, or Oldest
	DataNodes  int
	HA         bool              // two name nodes; the first is made active
	HTTPFS     bool              // an HttpFS gateway as well
	YARN       int               // MiB for the containers of jobs; 0 runs no jobs
	Kerberos   *KDC              // makes the cluster secure
	Core, HDFS map[string]string // further properties of core-site and hdfs-site
}

// Cluster is a running HDFS, and YARN if that is configured.
type Cluster struct {
	NameNodes []*Daemon
	DataNodes []*Daemon

	resourceManager, nodeManager *Daemon // nil without YARN

	kit    kit
	dir    string
	config Config
	host   string // name of this machine for daemons and clients
	uri    string
	httpfs *Daemon
	keytab string  // keytab of the services, if the cluster is secure
	reaper *reaper // kills the processes in containers, if there is YARN
}

// Start starts a cluster that keeps everything in dir, and returns when it serves. If it
// fails, the error has the end of the log of the daemon that failed.
func Start(ctx context.Context, dir string, config Config) (*Cluster, error) {
	kit, err := kitFor(config.Version)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	c := &Cluster{kit: kit, dir: dir, config: config, host: "127.0.0.1"}
	if config.Kerberos != nil {
		c.host = "localhost" // as in the principals of the services
	}
	if err := c.start(ctx); err != nil {
		c.Stop()
		return nil, err
	}
	return c, nil
}

// checkFolder refuses a folder whose path needs escapes in a URI, because data nodes do not run
// there. It also refuses a folder on a nearly full disk, because there name nodes stay in safe mode
// and data nodes accept no blocks.
func checkFolder(dir string) error {
	const needed = 512 // MiB
	if escaped(dir) != dir {
		return fmt.Errorf("hadooptest: Hadoop does not run in a folder with a path like %q: choose another TMPDIR", dir)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("free space of %s: %w", dir, err)
	}
	if free := disk.Bavail * uint64(disk.Bsize) >> 20; free < needed {
		return fmt.Errorf("hadooptest: %d MiB are free in %s, and a cluster needs %d", free, dir, needed)
	}
	return nil
}

func (c *Cluster) start(ctx context.Context) error {
	ports, err := c.layout()
	if err != nil {
		return err
	}
	if err := c.configure(ctx, ports); err != nil {
		return err
	}
	if c.config.YARN > 0 {
		if c.reaper, err = newReaper(c.containers()); err != nil {
			return err
		}
	}
	for _, d := range c.daemons() {
		if err := d.Start(ctx); err != nil {
			return err
		}
	}
	// The time is long because a busy machine takes minutes. A daemon that ends is noticed at once.
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	if c.config.HA {
		if err := c.Active(ctx, 0); err != nil {
			return err
		}
	}
	if err := c.waitLive(ctx, c.config.DataNodes, c.daemons()); err != nil {
		return err
	}
	if err := c.waitHTTPFS(ctx); err != nil {
		return err
	}
	return c.waitYARN(ctx)
}

// layout makes the directories with the name nodes' first state, and chooses the ports.
func (c *Cluster) layout() ([]int, error) {
	for _, dir := range []string{"logs", "tmp"} {
		if err := os.MkdirAll(filepath.Join(c.dir, dir), 0o777); err != nil {
			return nil, err
		}
	}
	for _, dir := range c.nameDirs() {
		if err := os.CopyFS(filepath.Join(c.dir, dir), os.DirFS(c.kit.name)); err != nil {
			return nil, err
		}
	}
	keys, err := os.ReadFile(c.kit.keys)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(c.dir, "keys.jceks"), keys, 0o600); err != nil {
		return nil, err
	}
	return freePorts(4 + 3*c.config.DataNodes + 1 + yarnPorts)
}

// nameDirs returns the directories of the name nodes' state. A pair has a third directory, in which
// both share their edits.
func (c *Cluster) nameDirs() []string {
	if c.config.HA {
		return []string{"nn1", "nn2", "edits"}
	}
	return []string{"nn1"}
}

// configure writes the configuration and composes the daemons.
func (c *Cluster) configure(ctx context.Context, ports []int) error {
	core := properties{
		"hadoop.tmp.dir":                    c.path("tmp"),
		"hadoop.security.key.provider.path": "jceks://file" + c.path("keys.jceks"),
		"ipc.client.rpc-timeout.ms":         "10000",
		"ipc.client.connect.timeout":        "5000",
	}
	hdfs := properties{
		"dfs.replication":                         strconv.Itoa(min(3, max(1, c.config.DataNodes))),
		"dfs.client.socket-timeout":               "10000",
		"dfs.heartbeat.interval":                  "1",
		"dfs.namenode.heartbeat.recheck-interval": "2000",
		"dfs.namenode.safemode.extension":         "0",
		"dfs.datanode.hostname":                   c.host,
		"dfs.datanode.max.transfer.threads":       "256",
	}
	c.configureNames(core, hdfs, ports[:4])
	if c.config.Kerberos != nil {
		if err := c.configureKerberos(ctx, core, hdfs); err != nil {
			return err
		}
	}
	others := ports[4+3*c.config.DataNodes:]
	if c.config.HTTPFS {
		if err := c.addHTTPFS(core, others[0]); err != nil {
			return err
		}
	}
	all := sites{"core": core, "hdfs": hdfs}
	if c.config.YARN > 0 {
		if err := c.addYARN(all, others[1:]); err != nil {
			return err
		}
	}
	maps.Copy(core, c.config.Core)
	maps.Copy(hdfs, c.config.HDFS)
	for i := range c.config.DataNodes {
		c.addDataNode(i, ports[4+3*i:])
	}
	return writeConf(c.ConfDir(), all)
}

// configureNames sets the addresses of the name nodes, and composes their daemons.
func (c *Cluster) configureNames(core, hdfs properties, ports []int) {
	ids, suffixes := []string{"nn1"}, []string{""}
	c.uri = "hdfs://" + c.address(ports[0])
	if c.config.HA {
		ids, suffixes = []string{"nn1", "nn2"}, []string{".pair.nn1", ".pair.nn2"}
		c.uri = "hdfs://" + nameservice
		hdfs["dfs.nameservices"] = nameservice
		hdfs["dfs.ha.namenodes.pair"] = "nn1,nn2"
		hdfs["dfs.client.failover.proxy.provider.pair"] = "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider"
		hdfs["dfs.namenode.shared.edits.dir"] = "file://" + c.path("edits")
		hdfs["dfs.ha.fencing.methods"] = "shell(/bin/true)"
		hdfs["dfs.ha.tail-edits.period"] = "1"
		hdfs["dfs.ha.log-roll.period"] = "2" // a restarted name node waits for the next roll
	}
	core["fs.defaultFS"] = c.uri
	for i, id := range ids {
		http := c.address(ports[2*i+1])
		hdfs["dfs.namenode.rpc-address"+suffixes[i]] = c.address(ports[2*i])
		hdfs["dfs.namenode.http-address"+suffixes[i]] = http
		own := properties{"dfs.namenode.name.dir": "file://" + c.path(id)}
		if c.config.HA {
			own["dfs.ha.namenode.id"] = id
		}
		nn := c.daemon(id, "org.apache.hadoop.hdfs.server.namenode.NameNode", own)
		nn.http = http
		c.NameNodes = append(c.NameNodes, nn)
	}
}

func (c *Cluster) addDataNode(i int, ports []int) {
	name := fmt.Sprintf("dn%d", i+1)
	dn := c.daemon(name, "org.apache.hadoop.hdfs.server.datanode.DataNode", properties{
		"dfs.datanode.data.dir":     "file://" + c.path(name),
		"dfs.datanode.address":      "127.0.0.1:" + strconv.Itoa(ports[0]),
		"dfs.datanode.ipc.address":  "127.0.0.1:" + strconv.Itoa(ports[1]),
		"dfs.datanode.http.address": "127.0.0.1:" + strconv.Itoa(ports[2]),
	})
	c.DataNodes = append(c.DataNodes, dn)
}

// daemon composes a daemon with its own properties.
func (c *Cluster) daemon(name, class string, own properties) *Daemon {
	flags := c.javaFlags()
	return &Daemon{
		Name: name,
		path: "java",
		args: c.kit.javaArgs(c.ConfDir(), flags, append([]string{class}, own.defines()...)...),
		env:  environment(),
		log:  c.path("logs", name+".log"),
	}
}

func (c *Cluster) javaFlags() []string {
	flags := []string{"-Djava.io.tmpdir=" + c.path("tmp")}
	if c.config.Kerberos != nil {
		flags = append(flags, c.config.Kerberos.javaFlag())
	}
	return flags
}

func (c *Cluster) daemons() []*Daemon {
	all := append(append([]*Daemon{}, c.NameNodes...), c.DataNodes...)
	if c.httpfs != nil {
		all = append(all, c.httpfs)
	}
	if c.resourceManager != nil {
		all = append(all, c.resourceManager, c.nodeManager)
	}
	return all
}

func (c *Cluster) address(port int) string { return c.host + ":" + strconv.Itoa(port) }

func (c *Cluster) path(name ...string) string {
	return filepath.Join(append([]string{c.dir}, name...)...)
}

// Stop kills all daemons, and then the processes in containers. Their files remain.
func (c *Cluster) Stop() {
	for _, d := range c.daemons() {
		d.Kill()
	}
	c.reaper.kill()
}

// ConfDir returns the directory for HADOOP_CONF_DIR.
func (c *Cluster) ConfDir() string { return c.path("conf") }

// URI returns hdfs://host:port, or hdfs://nameservice of a pair, which needs the
// configuration in ConfDir.
func (c *Cluster) URI() string { return c.uri }

// WebURI returns webhdfs://host:port, or webhdfs://nameservice of a pair.
func (c *Cluster) WebURI() string {
	if c.config.HA {
		return "webhdfs://" + nameservice
	}
	return "webhdfs://" + c.NameNodes[0].http
}

// HTTPFS returns webhdfs://host:port of the HttpFS gateway.
func (c *Cluster) HTTPFS() string { return "webhdfs://" + c.httpfs.http }

// Java runs a class of Hadoop, or of e2e/hadoop/src, as a client of the cluster and as its
// superuser. It returns standard output. If the class fails, the error has both outputs.
func (c *Cluster) Java(ctx context.Context, class string, args ...string) (string, error) {
	flags := append(c.javaFlags(), "-Xmx512m", "-Dhadoop.root.logger=WARN,console")
	cmd := exec.CommandContext(ctx, "java", c.kit.javaArgs(c.ConfDir(), flags, append([]string{class}, args...)...)...)
	cmd.Env = environment()
	if k := c.config.Kerberos; k != nil {
		cache := c.path("superuser.cc")
		if err := k.kinit(ctx, c.keytab, "nn/localhost", cache); err != nil {
			return "", err
		}
		cmd.Env = append(cmd.Env, "KRB5CCNAME="+cache)
	}
	cmd.SysProcAttr = dieWithParent()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := spawn(cmd)
	if err == nil {
		err = cmd.Wait()
	}
	if err != nil {
		err = fmt.Errorf("%s: %w\n%s%s", class, errors.Join(err, ctx.Err()), &stdout, &stderr)
	}
	return stdout.String(), err
}
