package location

import (
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
	"github.com/rowtocol/rowtocol/store/hdfs"
	"github.com/rowtocol/rowtocol/store/webhdfs"
)

// Options are the settings of remote storage that users can choose.
type Options struct {
	// Patience is the patience of remote stores.
	Patience store.Patience
	// Moved, if set, is called after each read from and write to remote storage, with the
	// number of bytes. It may be called concurrently.
	Moved func(n int)
	// Hadoop has the settings of HDFS over any protocol.
	Hadoop Hadoop
}

// Hadoop are the settings of HDFS.
type Hadoop struct {
	// Conf is the Hadoop configuration. Nil means the configuration of cluster.LoadConf.
	Conf *cluster.Conf
	// Login has the credentials of the user.
	Login cluster.LoginOptions
	// Replication is the number of replicas of new files. 0 means the cluster's default.
	Replication int
	// Tokens is for a process whose only credentials are the delegation tokens of
	// HADOOP_TOKEN_FILE_LOCATION, such as a task of a job on a cluster. It makes hdfs://
	// locations of a secure cluster use WebHDFS, because no HDFS client in Go supports tokens.
	Tokens bool
}

// Resolver resolves locations. It is safe for concurrent use. Locations of the same origin get
// the same store.
type Resolver struct {
	options Options

	mu     sync.Mutex // guards the fields below
	conf   *cluster.Conf
	login  *cluster.Login
	stores map[string]store.Store // by origin
	open   []io.Closer
}

// New returns a resolver. It reads nothing until a remote location is resolved.
func New(o Options) *Resolver {
	return &Resolver{options: o, conf: o.Hadoop.Conf, stores: make(map[string]store.Store)}
}

// Resolve returns the store of a location and its path there. It does not contact the storage.
// It fails if the location, the Hadoop configuration or the login is invalid. The error for an
// unknown scheme is store.ErrScheme.
func (r *Resolver) Resolve(location string) (store.Location, error) {
	l, err := r.resolve(location)
	return l, store.RedactError(err)
}

// kinds has the kinds of remote storage by the schemes of their locations. Each function
// returns the canonical scheme and authority, and the opener of the store.
var kinds = map[string]func(r *Resolver, scheme, authority string) (origin string, open opener, err error){
	"hdfs": (*Resolver).hadoop, "webhdfs": (*Resolver).hadoop, "swebhdfs": (*Resolver).hadoop,
}

// opener returns a store whose errors show no secrets, and its closer.
type opener func() (store.Store, io.Closer, error)

func (r *Resolver) resolve(location string) (store.Location, error) {
	scheme, rest := store.Scheme(location)
	kind, ok := kinds[scheme]
	if !ok {
		return store.Resolve(location)
	}
	//guard: refuses a token in a location
	if _, query, _ := strings.Cut(rest, "?"); strings.Contains(strings.ToLower(query), "delegation=") {
		return store.Location{}, fmt.Errorf("%s: a location has no token (HADOOP_TOKEN_FILE_LOCATION names a file of them)", location)
	}
	authority, p, _ := strings.Cut(rest, "/")
	r.mu.Lock()
	defer r.mu.Unlock()
	origin, open, err := kind(r, scheme, authority)
	if err != nil {
		return store.Location{}, fmt.Errorf("%s: %w", location, err)
	}
	st := r.stores[origin]
	if st == nil {
		if st, err = r.connect(open); err != nil {
			return store.Location{}, fmt.Errorf("%s: %w", location, err)
		}
		r.stores[origin] = st
	}
	return store.Location{Store: st, Origin: origin, Path: path.Clean("/" + p)}, nil
}

// load reads the configuration and logs in, once.
func (r *Resolver) load() (err error) {
	if r.conf == nil {
		if r.conf, err = cluster.LoadConf(); err != nil {
			return err
		}
	}
	if r.login == nil {
		r.login, err = cluster.NewLogin(r.conf, r.options.Hadoop.Login)
	}
	return err
}

func (r *Resolver) connect(open opener) (store.Store, error) {
	st, closer, err := open()
	if err != nil {
		return nil, err
	}
	r.open = append(r.open, closer)
	if r.options.Moved != nil {
		st = store.WithMeter(st, r.options.Moved)
	}
	return store.WithRetry(st, r.options.Patience), nil
}

// hadoop opens the file systems of a cluster.
func (r *Resolver) hadoop(scheme, authority string) (origin string, open opener, err error) {
	if err := r.load(); err != nil {
		return "", nil, err
	}
	origin, addresses, err := r.conf.NameNodes(scheme, authority)
	return origin, func() (store.Store, io.Closer, error) {
		var st interface {
			store.Store
			io.Closer
		}
		var err error
		switch _, authority := store.Scheme(origin); {
		case scheme != "hdfs":
			st, err = webhdfs.New(r.conf, r.login, webhdfs.Options{Scheme: scheme, Addresses: addresses, Replication: r.options.Hadoop.Replication})
		case r.options.Hadoop.Tokens && r.login.Secure():
			o := webhdfs.Options{RPC: addresses, Replication: r.options.Hadoop.Replication}
			if o.Scheme, o.Addresses, err = r.conf.WebNodes(authority); err == nil {
				st, err = webhdfs.New(r.conf, r.login, o)
			}
		default:
			st, err = hdfs.New(r.conf, r.login, hdfs.Options{Addresses: addresses, Replication: r.options.Hadoop.Replication})
		}
		if err != nil {
			return nil, nil, err
		}
		return store.WithRedaction(st, r.login.Redact), st, nil
	}, err
}

// Close ends the login, and the connections of all stores that Resolve returned.
func (r *Resolver) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var errs []error
	for _, c := range r.open {
		errs = append(errs, c.Close())
	}
	if r.login != nil {
		r.login.Close()
	}
	r.open, r.login, r.stores = nil, nil, make(map[string]store.Store)
	return errors.Join(errs...)
}
