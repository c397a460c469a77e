package webhdfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

const (
	defaultConnect = 20 * time.Second
	defaultSilence = 60 * time.Second
	settleTime     = 10 * time.Second
	// perNode is how much more time Hadoop's client allows for each node of a pipeline.
	perNode = 5 * time.Second
	// closeTime bounds Close, whose requests are optional.
	closeTime = 2 * time.Second
)

// Options select the cluster of a Store.
type Options struct {
	// Scheme is webhdfs, or swebhdfs for TLS.
	Scheme string
	// Addresses (host:port) are the addresses of the name nodes of one file system, or of an
	// HttpFS server.
	Addresses []string
	// RPC are the addresses (host:port) at which the name nodes serve HDFS's own protocol, if
	// they are known. A delegation token may have such an address as its service.
	RPC []string
	// Replication is the number of replicas of new files. 0 means dfs.replication, else the
	// server's default.
	Replication int
}

// Store is a file system over WebHDFS or HttpFS. It tries each call once, and if needed once at
// each name node and at several data nodes. It gives up on a server that is silent for longer
// than the configuration allows.
type Store struct {
	conf        *cluster.Conf
	scheme      string // http or https
	addresses   []string
	rpc         []string
	active      atomic.Int32 // index of the address that answered last
	transport   *http.Transport
	identity    *identity
	nodes       nodes
	names       cluster.HostNames // host names of the name nodes
	replication int
	silence     time.Duration // how long a server that should send may be silent
	// uploadSilence is longer, because a data node that repairs its pipeline accepts nothing
	// for up to silence.
	uploadSilence time.Duration
	settle        time.Duration // how long data nodes may take to report a block
	blockSize     cluster.BlockSize
	renames       atomic.Int32 // one of renamesUnknown...
}

var _ store.Store = (*Store)(nil)

// New returns the store of a file system, as the user of a login. It contacts no server. The
// time limits are dfs.webhdfs.socket.connect-timeout and dfs.webhdfs.socket.read-timeout of the
// configuration, else ipc.client.connect.timeout and dfs.client.socket-timeout.
func New(conf *cluster.Conf, login *cluster.Login, o Options) (*Store, error) {
	scheme, ok := map[string]string{"webhdfs": "http", "swebhdfs": "https"}[o.Scheme]
	if !ok {
		return nil, fmt.Errorf("%s: %w", o.Scheme, store.ErrScheme)
	}
	if len(o.Addresses) == 0 {
		return nil, errors.New("no name node is named")
	}
	connect := conf.Duration("dfs.webhdfs.socket.connect-timeout", conf.Duration("ipc.client.connect.timeout", defaultConnect))
	silence := conf.Duration("dfs.webhdfs.socket.read-timeout", conf.Duration("dfs.client.socket-timeout", defaultSilence))
	replication := cmp.Or(o.Replication, conf.Int("dfs.replication", 0))
	s := &Store{
		conf: conf, scheme: scheme, addresses: o.Addresses, rpc: o.RPC,
		transport: newTransport(connect), replication: replication,
		silence: silence, uploadSilence: 2*silence + perNode*time.Duration(max(replication, 3)), settle: settleTime,
	}
	s.identity = newIdentity(s, login, o.Scheme, os.Getenv("HADOOP_TOKEN_FILE_LOCATION"))
	return s, nil
}

// Capabilities reports that HDFS has checksums of its files.
func (s *Store) Capabilities() store.Capabilities { return store.Capabilities{Checksum: s.checksum} }

// Close closes the connections, and cancels a delegation token that the store fetched.
// The store is not used afterwards.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	err := s.identity.close(ctx)
	s.transport.CloseIdleConnections()
	return err
}

// mode returns permission bits as the parameter that names them.
func mode(bits uint32) string { return strconv.FormatUint(uint64(bits), 8) }
