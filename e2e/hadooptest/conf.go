package hadooptest

import (
	"encoding/xml"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

type properties map[string]string

// sites are the files of a configuration: "hdfs" is hdfs-site.xml.
type sites map[string]properties

// writeConf writes a directory of Hadoop configuration. The same property as in Hadoop sets
// the log level.
func writeConf(dir string, all sites) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	const log = `hadoop.root.logger=INFO,console
log4j.rootLogger=${hadoop.root.logger}
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
`
	for name, site := range all {
		if err := os.WriteFile(filepath.Join(dir, name+"-site.xml"), []byte(site.xml()), 0o666); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "log4j.properties"), []byte(log), 0o666)
}

func (p properties) xml() string {
	var b strings.Builder
	b.WriteString("<configuration>\n")
	for _, name := range slices.Sorted(maps.Keys(p)) {
		b.WriteString("  <property><name>" + name + "</name><value>")
		_ = xml.EscapeText(&b, []byte(p[name])) // a Builder never fails
		b.WriteString("</value></property>\n")
	}
	b.WriteString("</configuration>\n")
	return b.String()
}

// fileURI returns the URI of a local path.
func fileURI(path string) string { return "file://" + escaped(path) }

// escaped returns a path as in a URI.
func escaped(path string) string { return (&url.URL{Path: path}).EscapedPath() }

// defines returns the properties as arguments of Java tools.
func (p properties) defines() []string {
	var args []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		args = append(args, "-D", name+"="+p[name])
	}
	return args
}

// environment returns the environment of this process without variables that affect Hadoop.
func environment(extra ...string) []string {
	env := slices.DeleteFunc(os.Environ(), func(e string) bool {
		return strings.HasPrefix(e, "HADOOP_") || strings.HasPrefix(e, "KRB5")
	})
	return append(env, extra...)
}

const (
	// Few services use the ports from firstPort on, and the kernel assigns
	// connections only ports from 32768 on.
	firstPort       = 12000
	portsPerProcess = 500 // ports of a process
	portProcesses   = 40  // processes that have clusters at the same time
)

// portRange is a range of ports that belongs to a process while it holds a lock.
type portRange struct {
	first int
	lock  *os.File // open until the process ends
}

// reservedPorts reserves ports for this process, because daemons bind their ports late, and again
// after a restart. Meanwhile other processes choose ports.
var reservedPorts = sync.OnceValues(func() (portRange, error) {
	home, err := home()
	if err != nil {
		return portRange{}, err
	}
	for i := range portProcesses {
		f, err := os.OpenFile(filepath.Join(home, "target", fmt.Sprintf("ports-%d", i)), os.O_CREATE|os.O_RDWR, 0o666)
		if err != nil {
			return portRange{}, err
		}
		if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			return portRange{first: firstPort + i*portsPerProcess, lock: f}, nil
		}
		_ = f.Close() // another process has these
	}
	return portRange{}, errors.New("hadooptest: too many processes have clusters")
})

// freePorts picks ports of this process.
func freePorts(n int) ([]int, error) {
	own, err := reservedPorts()
	if err != nil {
		return nil, err
	}
	var ports []int
	for range 1000 {
		if len(ports) == n {
			return ports, nil
		}
		port := own.first + rand.IntN(portsPerProcess)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // closed at the end, so that no port is picked twice
		ports = append(ports, port)
	}
	return nil, fmt.Errorf("hadooptest: no %d free ports", n)
}

// superuser returns the owner of the daemons, HDFS's superuser.
func superuser() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}
