package hadooptest

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// addHTTPFS composes an HttpFS gateway, which may act for every user.
func (c *Cluster) addHTTPFS(core properties, port int) error {
	if err := fetchHTTPFS(); err != nil {
		return err
	}
	core["hadoop.proxyuser."+superuser()+".hosts"] = "*"
	core["hadoop.proxyuser."+superuser()+".groups"] = "*"
	for _, dir := range []string{"log", "temp"} {
		if err := os.MkdirAll(c.path("httpfs", dir), 0o777); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(c.ConfDir(), 0o777); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(c.ConfDir(), "httpfs-signature.secret"), []byte("secret"), 0o600); err != nil {
		return err
	}
	site := properties{"httpfs.http.hostname": c.host, "httpfs.http.port": strconv.Itoa(port)}
	if err := os.WriteFile(filepath.Join(c.ConfDir(), "httpfs-site.xml"), []byte(site.xml()), 0o666); err != nil {
		return err
	}
	flags := c.javaFlags()
	for name, dir := range map[string]string{
		"httpfs.home.dir": "httpfs", "httpfs.log.dir": "httpfs/log", "httpfs.temp.dir": "httpfs/temp",
		"httpfs.config.dir": "conf", "httpfs.hadoop.config.dir": "conf",
	} {
		flags = append(flags, "-D"+name+"="+c.path(dir))
	}
	gateway := kit{target: filepath.Join(c.kit.target, "httpfs")}
	c.httpfs = &Daemon{
		Name: "httpfs",
		path: "java",
		args: gateway.javaArgs(c.ConfDir(), flags, "org.apache.hadoop.fs.http.server.HttpFSServerWebServer"),
		env:  environment(),
		log:  c.path("logs", "httpfs.log"),
		http: c.address(port),
	}
	return nil
}

func (c *Cluster) waitHTTPFS(ctx context.Context) error {
	for c.httpfs != nil {
		_, err := c.request(ctx, http.MethodGet, "http://"+c.httpfs.http+"/webhdfs/v1/?op=GETFILESTATUS&user.name="+superuser())
		if err == nil {
			break
		}
		if err := c.httpfs.failure(); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for HttpFS: %w: %w\n%s", ctx.Err(), err, c.httpfs.logTail())
		case <-time.After(poll):
		}
	}
	return nil
}
