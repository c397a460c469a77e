// Command hdfs runs a small real HDFS for trying things by hand, until Ctrl-C.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/rowtocol/rowtocol/e2e/hadooptest"
)

func main() {
	var c hadooptest.Config
	flag.IntVar(&c.DataNodes, "datanodes", 3, "number of data nodes")
	flag.BoolVar(&c.HA, "ha", false, "run a pair of name nodes")
	flag.BoolVar(&c.HTTPFS, "httpfs", false, "run an HttpFS gateway as well")
	yarn := flag.Bool("yarn", false, "run jobs as well: a resource manager and a node manager")
	flag.StringVar(&c.Version, "version", "", "version of Hadoop: the newest, or "+hadooptest.Oldest)
	flag.Parse()
	if *yarn {
		c.YARN = 3072
	}
	if err := run(c); err != nil {
		fmt.Fprintln(os.Stderr, "hdfs:", err)
		os.Exit(1)
	}
}

func run(config hadooptest.Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	dir, err := os.MkdirTemp("", "rowtocol-hdfs-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fmt.Fprintln(os.Stderr, "hdfs: starting; the first time takes minutes")
	c, err := hadooptest.Start(ctx, dir, config)
	if err != nil {
		return err
	}
	defer c.Stop()
	fmt.Println("export HADOOP_CONF_DIR=" + c.ConfDir())
	if config.YARN > 0 {
		fmt.Println("export HADOOP_HOME=" + c.Home() + " PATH=" + c.Home() + "/bin:$PATH")
		fmt.Println("#", c.JobsURL())
	}
	fmt.Println("#", c.URI())
	fmt.Println("#", c.WebURI())
	if config.HTTPFS {
		fmt.Println("#", c.HTTPFS())
	}
	fmt.Fprintln(os.Stderr, "hdfs: ready; Ctrl-C stops it and removes its files")
	<-ctx.Done()
	return nil
}
