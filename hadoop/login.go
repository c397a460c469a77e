package hadoop

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/cluster"
)

// loginEnviron returns the variables env, as key=value, with changes that make Hadoop's client,
// a Java program, log in as the same user and with the same credentials as login. Without the
// changes, the client reads a keytab only from KRB5KEYTAB, and the principal from
// KRB5PRINCIPAL. Without a principal, it continues as the system's user if the keytab does
// not work. It searches for a ticket cache only in KRB5CCNAME and in /tmp, and ignores
// KRB5_CONFIG.
func loginEnviron(env []string, login *cluster.Login) []string {
	env = slices.Clone(env)
	// The client would act for that user, who does not own the files of the job.
	env = setVariable(env, "HADOOP_PROXY_USER", "")
	if !login.Secure() {
		return setVariable(env, "HADOOP_USER_NAME", login.User())
	}
	principal, keytab, cache := login.Credentials()
	if path, err := filepath.Abs(keytab); keytab != "" && err == nil {
		keytab = path
	}
	env = setVariable(env, "KRB5PRINCIPAL", principal)
	env = setVariable(env, "KRB5KEYTAB", keytab)
	if cache != "" {
		env = setVariable(env, "KRB5CCNAME", cache)
	}
	const java = "java.security.krb5.conf"
	options := variable(env, "HADOOP_CLIENT_OPTS")
	if conf := kerberosConf(variable(env, "KRB5_CONFIG")); conf != "" &&
		!strings.Contains(options, java) && !strings.Contains(variable(env, "HADOOP_OPTS"), java) {
		env = setVariable(env, "HADOOP_CLIENT_OPTS", strings.TrimSpace(options+" -D"+java+"="+conf))
	}
	return env
}

// checkTokens returns failure.Usage if tasks cannot reach an origin with the tokens of their
// job. The caller then does not start the job.
func checkTokens(login *cluster.Login, conf *cluster.Conf, origins []string) error {
	if login == nil || !login.Secure() {
		return nil
	}
	for _, origin := range origins {
		scheme, authority := store.Scheme(origin)
		if scheme != "hdfs" {
			continue
		}
		if _, _, err := conf.WebNodes(authority); err != nil {
			return failure.As(failure.Usage, fmt.Errorf("on a secure cluster, tasks reach %s by HTTP: %w", origin, err))
		}
	}
	return nil
}

// kerberosConf returns the first file of a list that exists, because Java reads only one file.
func kerberosConf(list string) string {
	for _, name := range filepath.SplitList(list) {
		path, err := filepath.Abs(name)
		if err != nil {
			continue
		}
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}

// variable returns the last value of a variable.
func variable(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// setVariable sets a variable, and may change env. An empty value removes the variable,
// because some programs treat an empty variable as set.
func setVariable(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	if value == "" {
		return env
	}
	return append(env, name+"="+value)
}
