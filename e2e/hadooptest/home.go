package hadooptest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// launchers are the classes that Hadoop's own scripts start for the commands of clients, and the
// arguments that the scripts put before the user's arguments.
var launchers = map[string]map[string]string{
	"hadoop": {"fs": "org.apache.hadoop.fs.FsShell", "version": "org.apache.hadoop.util.VersionInfo"},
	"hdfs": {
		"dfs":      "org.apache.hadoop.fs.FsShell",
		"fsck":     "org.apache.hadoop.hdfs.tools.DFSck",
		"dfsadmin": "org.apache.hadoop.hdfs.tools.DFSAdmin",
	},
	"mapred": {
		"job":     "org.apache.hadoop.mapred.JobClient",
		"pipes":   "org.apache.hadoop.mapred.pipes.Submitter",
		"queue":   "org.apache.hadoop.mapred.JobQueueClient",
		"version": "org.apache.hadoop.util.VersionInfo",
	},
	"yarn": {
		"app":                "org.apache.hadoop.yarn.client.cli.ApplicationCLI app",
		"application":        "org.apache.hadoop.yarn.client.cli.ApplicationCLI application",
		"applicationattempt": "org.apache.hadoop.yarn.client.cli.ApplicationCLI applicationattempt",
		"container":          "org.apache.hadoop.yarn.client.cli.ApplicationCLI container",
		"logs":               "org.apache.hadoop.yarn.client.cli.LogsCLI",
		"node":               "org.apache.hadoop.yarn.client.cli.NodeCLI",
		"version":            "org.apache.hadoop.util.VersionInfo",
	},
}

// Home returns the directory for HADOOP_HOME: a client installation, whose launchers in bin
// read the same environment variables as Hadoop's own.
func (c *Cluster) Home() string { return c.path("home") }

// writeHome writes the client installation.
func (c *Cluster) writeHome() error {
	bin := filepath.Join(c.Home(), "bin")
	for _, dir := range []string{bin, filepath.Join(c.Home(), "etc")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	if err := os.Symlink(c.ConfDir(), filepath.Join(c.Home(), "etc", "hadoop")); err != nil {
		return err
	}
	for name, commands := range launchers {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(c.launcher(name, commands)), 0o777); err != nil {
			return err
		}
	}
	return nil
}

// launcher returns the script of a launcher.
func (c *Cluster) launcher(name string, commands map[string]string) string {
	var cases strings.Builder
	for command, class := range commands {
		fmt.Fprintf(&cases, "%s) set -- %s \"$@\" ;;\n", command, class)
	}
	flags := append(c.kit.javaFlags(), "-Djava.io.tmpdir="+c.path("tmp")) // without the KDC, which clients choose
	for i, f := range flags {
		flags[i] = quoted(f)
	}
	return `#!/bin/sh
command=$1
[ $# -gt 0 ] && shift
case $command in
` + cases.String() + `*) echo "ERROR: $command is not COMMAND nor fully qualified CLASSNAME." >&2; exit 1 ;;
esac
conf=${HADOOP_CONF_DIR:-` + quoted(filepath.Join(c.Home(), "etc", "hadoop")) + `}
[ -z "$HADOOP_HEAPSIZE_MAX" ] || HADOOP_CLIENT_OPTS="-Xmx${HADOOP_HEAPSIZE_MAX} $HADOOP_CLIENT_OPTS"
exec "${JAVA_HOME:+$JAVA_HOME/bin/}java" ` + strings.Join(flags, " ") + ` \
	"-Dhadoop.root.logger=${HADOOP_ROOT_LOGGER:-${HADOOP_LOGLEVEL:-INFO},console}" $HADOOP_OPTS $HADOOP_CLIENT_OPTS \
	-cp "$conf":` + quoted(strings.Join(c.kit.classPath(), ":")) + `"${HADOOP_CLASSPATH:+:$HADOOP_CLASSPATH}" "$@"
`
}

// quoted returns a word quoted for the shell.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
