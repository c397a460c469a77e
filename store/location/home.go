package location

import (
	"path"

	"github.com/rowtocol/rowtocol/store/cluster"
)

// Home returns the location of the user's home directory on the default file system of the
// Hadoop configuration. It contacts no server.
func (r *Resolver) Home() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return "", err
	}
	return "hdfs://" + path.Join("/", r.conf.String("dfs.user.home.dir.prefix", "/user"), r.login.User()), nil
}

// Login returns the login that all remote stores share. It contacts no server.
func (r *Resolver) Login() (*cluster.Login, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.load()
	return r.login, err
}
