package cli

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
func (a *App) addStore(flags *pflag.FlagSet) {
	o := &a.Store
	o.Patience.Limit = 15 * time.Minute
	flags.Var((*TimeSpan)(&o.Patience.Limit), "store-retry", "how long to retry remote storage after failures that may pass")
	flags.IntVar(&o.Hadoop.Replication, "replication", 0, "number of replicas of each new file on HDFS (default as the cluster is configured)")
	flags.StringVar(&o.Hadoop.Login.Principal, "principal", "", "Kerberos `principal` (default the only principal of --keytab, or without --keytab the principal of the ticket cache)")
	flags.StringVar(&o.Hadoop.Login.Keytab, "keytab", "", "Kerberos keytab `file` (default: use the ticket cache)")
}

// openStores prepares to resolve locations.
func (a *App) openStores() error {
	o := &a.Store
	h := &o.Hadoop
	switch {
	case h.Replication < 0 || h.Replication > 512:
		return Usagef("--replication must be from 1 to 512, or 0 for the cluster's")
	case (h.Login.Principal == "") != (h.Login.Keytab == ""):
		return Usagef("--principal and --keytab go together")
	}
	// A process in a container of a cluster's job has no other credentials than tokens.
	h.Tokens = os.Getenv("HADOOP_TOKEN_FILE_LOCATION") != "" && h.Login.Keytab == ""
	o.Patience.Waiting = func(what string, err error, wait time.Duration) {
		a.Log.Warn("storage failed, trying again", "operation", what, "wait", wait.Round(time.Millisecond).String(), "reason", err.Error())
	}
	h.Login.Exposed = func(file string, mode fs.FileMode) {
		a.Log.Warn("users other than its owner can read a file of secrets", "file", file, "mode", fmt.Sprintf("%04o", mode.Perm()))
	}
	a.Stores = location.New(*o)
	return nil
}

// closeStores closes connections and ignores errors.
func (a *App) closeStores() {
	if a.Stores != nil {
		_ = a.Stores.Close()
	}
}

// Resolve finds the store of a location that the user named.
func (a *App) Resolve(name string) (store.Location, error) {
	l, err := a.Stores.Resolve(name)
	return l, OfSettings(err)
}

// OfSettings turns an error about a location, or about the configuration of a cluster or the
// login, into a usage error. It does not change an error for which a retry may help, or a
// refusal by the storage.
func OfSettings(err error) error {
	if c := store.Classify(err); err == nil || c == store.Retryable || c == store.Final {
		return err
	}
	return AsUsage(err)
}
