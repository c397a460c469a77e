package hdfs

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	client "github.com/colinmarc/hdfs/v2"
	"github.com/colinmarc/hdfs/v2/hadoopconf"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// Options select a cluster and how to write to it.
type Options struct {
	// Addresses are the name nodes of one nameservice, as host:port.
	Addresses []string
	// Replication is the number of replicas of new files. 0 means the number in the
	// configuration, else the cluster's default.
	Replication int
}

// Store is one nameservice. Close it after use.
type Store struct {
	conf           *cluster.Conf
	login          *cluster.Login
	addresses      []string
	options        client.ClientOptions // without addresses, user and dialers
	replication    int                  // 0 means the cluster's default
	connectTimeout time.Duration        // for connections to name nodes
	callTimeout    time.Duration
	dataTimeout    time.Duration
	maxAnswer      uint32 // most bytes of a name node's answer
	// confirmTime bounds the wait until a data node confirms the last block to the name
	// node. This usually takes milliseconds.
	confirmTime time.Duration
	names       cluster.HostNames // host names of the name nodes
	blockSize   cluster.BlockSize

	mu       sync.Mutex // guards the fields below
	closed   bool
	front    int // index of the address to try first
	idle     []*session
	defaults *defaults // nil until requested
}

var _ store.Store = (*Store)(nil)

const defaultMaxAnswer = 128 << 20 // Hadoop's default

// New returns the store of a cluster. It contacts no server. It refuses a configuration with
// which it could not read data.
func New(conf *cluster.Conf, login *cluster.Login, o Options) (*Store, error) {
	if len(o.Addresses) == 0 {
		return nil, errors.New("no name node is given")
	}
	s := &Store{
		conf:           conf,
		login:          login,
		addresses:      slices.Clone(o.Addresses),
		replication:    o.Replication,
		connectTimeout: conf.Duration("ipc.client.connect.timeout", 20*time.Second),
		callTimeout:    conf.Duration("ipc.client.rpc-timeout.ms", time.Minute),
		dataTimeout:    conf.Duration("dfs.client.socket-timeout", time.Minute),
		maxAnswer:      defaultMaxAnswer,
		confirmTime:    time.Minute,
	}
	if n := conf.Int("ipc.maximum.response.length", 0); n > 0 && n <= math.MaxInt32 {
		s.maxAnswer = uint32(n)
	}
	if s.replication == 0 {
		s.replication = conf.Int("dfs.replication", 0)
	}
	protection, err := protection(conf, login.Secure())
	if err != nil {
		return nil, err
	}
	s.options = clientOptions(conf, protection)
	if !login.Secure() {
		return s, nil
	}
	principal, _, _ := strings.Cut(conf.String("dfs.namenode.kerberos.principal", ""), "@")
	if principal == "" {
		return nil, errors.New("dfs.namenode.kerberos.principal is not set, but Kerberos needs it")
	}
	s.options.KerberosServicePrincipleName = principal
	return s, nil
}

// Capabilities reports that HDFS has checksums and owners of its files.
func (s *Store) Capabilities() store.Capabilities {
	return store.Capabilities{Checksum: s.checksum, Access: s.access, SetMode: s.setMode}
}

// clientOptions lets the library parse a configuration, because only then the library skips
// the SASL handshake with privileged ports.
func clientOptions(conf *cluster.Conf, protection string) client.ClientOptions {
	c := hadoopconf.HadoopConf{"dfs.data.transfer.protection": protection}
	for _, key := range []string{"dfs.client.use.datanode.hostname", "dfs.encrypt.data.transfer"} {
		c[key] = strings.ToLower(conf.String(key, ""))
	}
	options := client.ClientOptionsFromConf(c)
	options.Addresses = nil
	return options
}

// protection returns the configured protection of data transfer, or an error if the
// library can write but not read with it.
func protection(conf *cluster.Conf, secure bool) (string, error) {
	if conf.Bool("dfs.encrypt.data.transfer", false) {
		return "privacy", mayEncrypt(conf, "dfs.encrypt.data.transfer=true")
	}
	value := strings.ToLower(conf.String("dfs.data.transfer.protection", ""))
	if !secure || value == "" {
		return "", nil
	}
	levels := strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
	for _, level := range []string{"authentication", "privacy", "integrity"} {
		if !slices.Contains(levels, level) {
			continue
		}
		switch level {
		case "privacy":
			return level, mayEncrypt(conf, "dfs.data.transfer.protection=privacy")
		case "integrity":
			return "", fmt.Errorf("dfs.data.transfer.protection=integrity is possible over webhdfs:// only: %w", syscall.ENOTSUP)
		}
		return level, nil
	}
	return "", fmt.Errorf("dfs.data.transfer.protection is %q: %w", value, syscall.EINVAL)
}

// mayEncrypt refuses encrypted data unless the cipher is AES, the only cipher that the library
// can read.
func mayEncrypt(conf *cluster.Conf, because string) error {
	const key = "dfs.encrypt.data.transfer.cipher.suites"
	if strings.Contains(conf.String(key, ""), "AES/CTR/NoPadding") {
		return nil
	}
	return fmt.Errorf("%s without %s=AES/CTR/NoPadding is possible over webhdfs:// only: %w", because, key, syscall.ENOTSUP)
}

// defaults are the name node's settings for clients that set none.
type defaults struct {
	blockSize        int64
	bytesPerChecksum int64
	replication      int
}

// serverDefaults returns the cluster's defaults. It fails if the cluster encrypts data
// with a cipher that cannot be read.
func (s *Store) serverDefaults(ctx context.Context) (*defaults, error) {
	s.mu.Lock()
	known := s.defaults
	s.mu.Unlock()
	if known != nil {
		return known, nil
	}
	d := &defaults{}
	err := s.runIdempotent(ctx, func(se *session) error {
		a, err := se.call("getServerDefaults", nil)
		if err != nil {
			return err
		}
		m, _ := a.message("serverDefaults")
		if m.field("encryptDataTransfer").Bool() {
			//guard: refuses a cipher that the library does not have
			if err := mayEncrypt(s.conf, "the cluster's encryption of data transfer"); err != nil {
				return err
			}
		}
		d.blockSize = int64(m.field("blockSize").Uint())
		d.bytesPerChecksum = int64(m.field("bytesPerChecksum").Uint())
		d.replication = int(m.field("replication").Uint())
		return nil
	})
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.defaults = d
	return d, nil
}

// Close ends the store's idle connections. Connections in use end after their operation. Later
// operations fail.
func (s *Store) Close() error {
	s.mu.Lock()
	idle := s.idle
	s.idle, s.closed = nil, true
	s.mu.Unlock()
	for _, se := range idle {
		se.idle.Stop()
		se.close()
	}
	return nil
}
