package main

import (
	"fmt"
	"io/fs"
	"time"

	"github.com/spf13/pflag"

	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/location"
)

// storeFlags are the flags about remote storage.
type storeFlags struct {
	retry             time.Duration
	replication       int
	principal, keytab string
}

func (f *storeFlags) add(flags *pflag.FlagSet) {
	flags.DurationVar(&f.retry, "store-retry", 15*time.Minute, "how long to wait for remote storage that fails in a way that may pass")
	flags.IntVar(&f.replication, "replication", 0, "replicas of each new file on HDFS (default the cluster's)")
	flags.StringVar(&f.principal, "principal", "", "Kerberos `principal`, with --keytab (default the one of the ticket cache)")
	flags.StringVar(&f.keytab, "keytab", "", "Kerberos keytab `file`")
}

func (f *storeFlags) check() error {
	switch {
	case f.retry < 0:
		return usagef("--store-retry must not be negative")
	case f.replication < 0 || f.replication > 512:
		return usagef("--replication must be from 1 to 512, or 0 for the cluster's")
	case (f.principal == "") != (f.keytab == ""):
		return usagef("--principal and --keytab go together")
	}
	return nil
}

// openStores makes ready to resolve locations.
func (a *app) openStores() {
	a.stores = location.New(location.Options{
		Patience: store.Patience{Limit: a.store.retry, Waiting: func(what string, err error, wait time.Duration) {
			a.log.Warn("storage failed, trying again", "operation", what, "wait", wait.Round(time.Millisecond).String(), "reason", err.Error())
		}},
		Replication: a.store.replication, Principal: a.store.principal, Keytab: a.store.keytab,
		Exposed: func(file string, mode fs.FileMode) {
			a.log.Warn("others than its owner can read a file of secrets", "file", file, "mode", fmt.Sprintf("%04o", mode.Perm()))
		},
	})
}

// closeStores ends connections; that one cannot be ended well is no news.
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

// ofSettings is an error about a location, the configuration of a cluster or the login
// to it: of wrong use, unless it is storage that refuses, or may do better later.
func ofSettings(err error) error {
	if c := store.Classify(err); err == nil || c == store.Retryable || c == store.Final {
		return err
	}
	return &usageError{err}
}
