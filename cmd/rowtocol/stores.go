package main

import (
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
)

// addStore adds the flags about remote storage.
func (a *app) addStore(flags *pflag.FlagSet) {
	o := &a.store
	o.Patience.Limit = 15 * time.Minute
	flags.Var((*timeSpan)(&o.Patience.Limit), "store-retry", "how long to retry remote storage after failures that may pass")
	flags.IntVar(&o.Hadoop.Replication, "replication", 0, "number of replicas of each new file on HDFS (default as the cluster is configured)")
	flags.StringVar(&o.Hadoop.Login.Principal, "principal", "", "Kerberos `principal` (default the only principal of --keytab, or without --keytab the principal of the ticket cache)")
	flags.StringVar(&o.Hadoop.Login.Keytab, "keytab", "", "Kerberos keytab `file` (default: use the ticket cache)")
}

// openStores prepares to resolve locations.
func (a *app) openStores() error {
	o := &a.store
	h := &o.Hadoop
	switch {
	case h.Replication < 0 || h.Replication > 512:
		return usagef("--replication must be from 1 to 512, or 0 for the cluster's")
	case (h.Login.Principal == "") != (h.Login.Keytab == ""):
		return usagef("--principal and --keytab go together")
	}
	// A process in a container of a cluster's job has no other credentials than tokens.
	h.Tokens = os.Getenv("HADOOP_TOKEN_FILE_LOCATION") != "" && h.Login.Keytab == ""
	o.Patience.Waiting = func(what string, err error, wait time.Duration) {
		a.log.Warn("storage failed, trying again", "operation", what, "wait", wait.Round(time.Millisecond).String(), "reason", err.Error())
	}
	h.Login.Exposed = func(file string, mode fs.FileMode) {
		a.log.Warn("users other than its owner can read a file of secrets", "file", file, "mode", fmt.Sprintf("%04o", mode.Perm()))
	}
	a.stores = location.New(*o)
	return nil
}

// closeStores closes connections and ignores errors.
func (a *app) closeStores() {
	if a.stores != nil {
		_ = a.stores.Close()
	}
}

// resolve finds the store of a location that the user named.
func (a *app) resolve(name string) (store.Location, error) {
	l, err := a.stores.Resolve(name)
	return l, ofSettings(err)
}

// ofSettings turns an error about a location, or about the configuration of a cluster or the
// login, into a usage error. It does not change an error for which a retry may help, or a
// refusal by the storage.
func ofSettings(err error) error {
	if c := store.Classify(err); err == nil || c == store.Retryable || c == store.Final {
		return err
	}
	return asUsage(err)
}
