package location

import "path"

// Home returns the location of the user's home directory on the default file system
// of the Hadoop configuration. It asks no server.
func (r *Resolver) Home() (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.load(); err != nil {
		return "", err
	}
	return "hdfs://" + path.Join("/", r.conf.String("dfs.user.home.dir.prefix", "/user"), r.login.User()), nil
}
