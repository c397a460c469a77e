package hadooptest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// OtherQueue is a queue of every resource manager besides "default".
const OtherQueue = "other"

const (
	managerPorts = 5                // number of ports of the resource manager
	yarnPorts    = managerPorts + 4 // number of ports of the resource manager and the node manager
)

// containers returns the directory in which all processes of containers work.
func (c *Cluster) containers() string { return c.path("nodes") }

// addYARN composes YARN's daemons, and writes its configuration and clients' launchers.
func (c *Cluster) addYARN(all sites, ports []int) error {
	site := c.yarnSite()
	for i, name := range []string{"address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address"} {
		site["yarn.resourcemanager."+name] = c.address(ports[i])
	}
	java := strings.Join(quickJava(), " ")
	// A master reads files of the previous master with Avro. The version of Avro here is newer
	// than Hadoop's own, and trusts Hadoop's classes only with this flag.
	const trusting = " -Dorg.apache.avro.SERIALIZABLE_PACKAGES=*"
	jobs := properties{
		"mapreduce.framework.name":                              "yarn",
		"mapreduce.application.classpath":                       strings.Join(c.kit.classPath(), ","),
		"mapreduce.admin.map.child.java.opts":                   java,
		"mapred.child.java.opts":                                "-Xmx200m",
		"mapreduce.map.memory.mb":                               "384",
		"yarn.app.mapreduce.am.admin-command-opts":              java + trusting,
		"yarn.app.mapreduce.am.command-opts":                    "-Xmx200m",
		"yarn.app.mapreduce.am.resource.mb":                     "384",
		"yarn.app.mapreduce.am.staging-dir":                     "/tmp/hadoop-yarn/staging",
		"yarn.app.mapreduce.am.scheduler.heartbeat.interval-ms": "200",
		"mapreduce.client.completion.pollinterval":              "500",
	}
	if c.config.Kerberos != nil {
		c.secureYARN(site, jobs)
	}
	all["yarn"], all["mapred"] = site, jobs
	if err := c.writeQueues(); err != nil {
		return err
	}
	c.resourceManager = c.daemon("rm", "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager", nil)
	c.resourceManager.http = c.address(ports[managerPorts-1])
	if err := os.MkdirAll(c.containers(), 0o777); err != nil {
		return err
	}
	if err := c.addNodeManager(ports[managerPorts:]); err != nil {
		return err
	}
	return c.writeHome()
}

// yarnSite returns the properties of all daemons and clients of YARN. The memory limits of
// containers are enforced, and intervals are short.
func (c *Cluster) yarnSite() properties {
	memory := strconv.Itoa(c.config.YARN)
	return properties{
		"yarn.resourcemanager.hostname":                            c.host,
		"yarn.nodemanager.hostname":                                c.host,
		"yarn.resourcemanager.scheduler.class":                     "org.apache.hadoop.yarn.server.resourcemanager.scheduler.capacity.CapacityScheduler",
		"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms":  "200",
		"yarn.nm.liveness-monitor.expiry-interval-ms":              "20000",
		"yarn.scheduler.minimum-allocation-mb":                     "16",
		"yarn.scheduler.maximum-allocation-mb":                     memory,
		"yarn.nodemanager.resource.memory-mb":                      memory,
		"yarn.nodemanager.resource.cpu-vcores":                     "8",
		"yarn.nodemanager.pmem-check-enabled":                      "true",
		"yarn.nodemanager.vmem-check-enabled":                      "false",
		"yarn.nodemanager.container-monitor.interval-ms":           "500",
		"yarn.nodemanager.aux-services":                            "mapreduce_shuffle", // also required by jobs that do not shuffle
		"yarn.nodemanager.delete.debug-delay-sec":                  "0",
		"yarn.log-aggregation-enable":                              "true",
		"yarn.nodemanager.remote-app-log-dir":                      "/tmp/logs",
		"yarn.nodemanager.disk-health-checker.enable":              "false", // the check fails on a nearly full disk
		"yarn.application.classpath":                               c.ConfDir() + "," + strings.Join(c.kit.classPath(), ","),
		"yarn.client.application-client-protocol.poll-interval-ms": "100",
		"yarn.client.app-submission.poll-interval":                 "100",
	}
}

// writeQueues writes the scheduler's configuration of queues. The default limits application
// masters to a tenth of the cluster, which is too little in a small one.
func (c *Cluster) writeQueues() error {
	const prefix = "yarn.scheduler.capacity."
	queues := properties{
		prefix + "root.queues":                               "default," + OtherQueue,
		prefix + "root.default.capacity":                     "50",
		prefix + "root.default.maximum-capacity":             "100",
		prefix + "root.default.user-limit-factor":            "2",
		prefix + "root." + OtherQueue + ".capacity":          "50",
		prefix + "root." + OtherQueue + ".maximum-capacity":  "100",
		prefix + "root." + OtherQueue + ".user-limit-factor": "2",
		prefix + "maximum-am-resource-percent":               "0.9",
		prefix + "resource-calculator":                       "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator",
		prefix + "node-locality-delay":                       "40",
	}
	if err := os.MkdirAll(c.ConfDir(), 0o777); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.ConfDir(), "capacity-scheduler.xml"), []byte(queues.xml()), 0o666)
}

func (c *Cluster) addNodeManager(ports []int) error {
	home, err := javaHome()
	if err != nil {
		return err
	}
	const name = "nm1"
	nm := c.daemon(name, "org.apache.hadoop.yarn.server.nodemanager.NodeManager", properties{
		"yarn.nodemanager.address":           c.address(ports[0]),
		"yarn.nodemanager.localizer.address": c.address(ports[1]),
		"yarn.nodemanager.webapp.address":    c.address(ports[2]),
		"mapreduce.shuffle.port":             strconv.Itoa(ports[3]),
		"yarn.nodemanager.local-dirs":        filepath.Join(c.containers(), name),
		"yarn.nodemanager.log-dirs":          c.path("logs", name),
	})
	nm.dir = c.containers()
	nm.env = environment("JAVA_HOME=" + home) // containers start Java by it
	c.nodeManager = nm
	return nil
}

// javaHome returns JAVA_HOME, or if it is not set the home of java.
func javaHome() (string, error) {
	if home := os.Getenv("JAVA_HOME"); home != "" {
		return home, nil
	}
	java, err := exec.LookPath("java")
	if err == nil {
		java, err = filepath.EvalSymlinks(java)
	}
	return filepath.Dir(filepath.Dir(java)), err
}

// waitYARN waits until the node manager is in service, and makes the users' directories of a
// cluster.
func (c *Cluster) waitYARN(ctx context.Context) error {
	if c.config.YARN == 0 {
		return nil
	}
	for path, mode := range map[string]string{"/tmp": "1777", "/user/" + superuser(): "755"} {
		for {
			_, err := c.Do(ctx, http.MethodPut, path, "op=MKDIRS&permission="+mode)
			if err == nil {
				break
			}
			// A name node that has just started may be so slow that an authenticator expires.
			if c.config.Kerberos == nil || ctx.Err() != nil {
				return err
			}
			time.Sleep(poll)
		}
	}
	return c.waitNode(ctx)
}

// JobsURL returns the page of the resource manager that lists jobs.
func (c *Cluster) JobsURL() string { return "http://" + c.resourceManager.http + "/cluster" }

// Application is a job as the resource manager knows it.
type Application struct {
	ID, Name, Queue, State, FinalStatus string
	Diagnostics                         string // why the job ended
}

// Applications returns all jobs so far, in no particular order.
func (c *Cluster) Applications(ctx context.Context) ([]Application, error) {
	var answer struct {
		Apps struct{ App []Application }
	}
	err := c.query(ctx, "apps", &answer)
	return answer.Apps.App, err
}

// query asks the resource manager about its cluster.
func (c *Cluster) query(ctx context.Context, what string, answer any) error {
	body, err := c.request(ctx, http.MethodGet, "http://"+c.resourceManager.http+"/ws/v1/cluster/"+what)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, answer)
}

// waitNode waits until the node manager is in service. It fails if the node manager or the
// resource manager ends.
func (c *Cluster) waitNode(ctx context.Context) error {
	for {
		var answer struct {
			ClusterMetrics struct{ ActiveNodes int }
		}
		err := c.query(ctx, "metrics", &answer)
		if err == nil && answer.ClusterMetrics.ActiveNodes == 1 {
			return nil
		}
		for _, d := range []*Daemon{c.resourceManager, c.nodeManager} {
			if failed := d.failure(); failed != nil {
				return failed
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for the node manager: %w: %w", ctx.Err(), err)
		case <-time.After(poll):
		}
	}
}
