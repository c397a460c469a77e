package cluster

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// LoginOptions are the credentials that a user chose.
type LoginOptions struct {
	// Principal is the Kerberos principal, with or without a realm. _HOST in it stands for
	// this machine's name. Empty means the only principal of the keytab, or the principal of
	// the ticket cache.
	Principal string
	// Keytab is the path of a file with the principal's keys. If it is empty, tickets come
	// from the ticket cache.
	Keytab string
	// User is the user's name without Kerberos. Empty means HADOOP_USER_NAME, else the
	// system's user.
	User string
	// Exposed, if set, is called once for each file of secrets that users other than
	// its owner can read.
	Exposed func(file string, mode fs.FileMode)
}

// Login is the user's identity on the cluster. It may be used concurrently; a process
// needs only one.
type Login struct {
	user    string
	tickets *tickets // nil without Kerberos
	// principal and keytab are the ones from which tickets come. Both may be empty.
	principal, keytab string
	files             *secretFiles
	secrets           secrets
}

// NewLogin returns the login that a configuration asks for. With simple authentication the user is
// the user of the options, else HADOOP_USER_NAME, else the system's user. Kerberos is used if
// hadoop.security.authentication is kerberos, or is not set and the options have credentials. The
// user is then the principal of the keytab or of the ticket cache. NewLogin reads the keytab, but
// contacts no server. The method Kerberos reports a missing ticket cache, because a user with a
// delegation token does not need a ticket cache.
func NewLogin(conf *Conf, o LoginOptions) (*Login, error) {
	named := o.Principal != "" || o.Keytab != ""
	switch method := strings.ToLower(conf.String("hadoop.security.authentication", "")); {
	case method == "kerberos" || method == "" && named:
		return kerberosLogin(o)
	case method != "" && method != "simple":
		return nil, fmt.Errorf("hadoop.security.authentication is %s, which is not supported", method)
	case named:
		return nil, errors.New("a principal or keytab is given, but hadoop.security.authentication is simple")
	}
	user := cmp.Or(o.User, os.Getenv("HADOOP_USER_NAME"))
	if user == "" {
		user = osUser()
	}
	return simpleLogin(user, o)
}

// simpleLogin returns a login without proof of identity.
func simpleLogin(name string, o LoginOptions) (*Login, error) {
	//guard: refuses an empty user name
	if name == "" {
		return nil, errors.New("the system has no name for the user of this process (HADOOP_USER_NAME gives one)")
	}
	return &Login{user: name, files: newSecretFiles(o)}, nil
}

// User returns the user's short name: the part of a principal before the first / or @.
func (l *Login) User() string { return l.user }

// Secure reports whether the cluster asks for Kerberos.
func (l *Login) Secure() bool { return l.tickets != nil }

// Credentials returns the credentials of a Kerberos login, so that another program can log in as
// the same user. They are the principal, and the path of the keytab or of the ticket cache. A
// result that the login does not have is empty.
func (l *Login) Credentials() (principal, keytab, cache string) {
	if l.tickets == nil || l.keytab != "" {
		return l.principal, l.keytab, ""
	}
	configured := ""
	if r, err := loadRealms(); err == nil {
		configured = r.cacheName
	}
	cache, _ = cacheFile(configured) // Kerberos reports the error
	return l.principal, "", cache
}
