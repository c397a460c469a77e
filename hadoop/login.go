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

// loginEnviron returns the variables env, as key=value, so that Hadoop's client, a
// Java program that gets them, is the same user to the cluster as the login, by the
// same credentials. Of its own accord it would look for others: it takes a keytab
// from KRB5KEYTAB alone, the principal from KRB5PRINCIPAL, and without that goes on
// as the system's user if the keytab does not serve; it knows no other ticket cache
// than KRB5CCNAME's and the one in /tmp, and does not heed KRB5_CONFIG.
func loginEnviron(env []string, login *cluster.Login) []string {
	env = slices.Clone(env)
	// It would act for that user, who owns nothing of what we write.
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

// checkTokens refuses, with failure.Usage, what tasks could not reach with the
// tokens of their job, so that no job is started for it.
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

// kerberosConf returns the first file of a list that exists: Java reads only one.
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

// variable returns the value of a variable, of which the last counts.
func variable(env []string, name string) string {
	for _, entry := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// setVariable sets a variable in place, or removes it if the value is empty: some
// programs take an empty one for a value.
func setVariable(env []string, name, value string) []string {
	env = slices.DeleteFunc(env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	if value == "" {
		return env
	}
	return append(env, name+"="+value)
}
