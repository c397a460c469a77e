package hadooptest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rowtocol/rowtocol/e2e/maven"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// EncryptionKey is the name of every cluster's key for encryption zones.
const EncryptionKey = "zone"

// kit has the files that all clusters start from.
type kit struct {
	target string // the Maven build: lib, classes
	name   string // a formatted name directory, to be copied
	keys   string // a key store with EncryptionKey, to be copied
}

// products are the directories that Maven makes from the poms.
var products = []string{"lib", "classes"}

// Oldest is the oldest version of Hadoop that is tested. The pom names the newest.
const Oldest = "3.1.4"

var (
	newestKit = sync.OnceValues(func() (kit, error) { return buildKit("") })
	oldestKit = sync.OnceValues(func() (kit, error) { return buildKit(Oldest) })
)

// kitFor returns the kit of a version of Hadoop.
func kitFor(version string) (kit, error) {
	switch version {
	case "":
		return newestKit()
	case Oldest:
		return oldestKit()
	}
	return kit{}, fmt.Errorf("hadooptest: Hadoop %s is not tested", version)
}

// Missing returns the reason why no cluster can run here, or "". Its first call downloads
// missing jars.
func Missing() string {
	if _, err := newestKit(); err != nil {
		return err.Error()
	}
	return ""
}

// buildKit fetches and builds products that are missing or older than their sources. The version ""
// means the version in the pom. A lock prevents other processes from doing this at the same time.
func buildKit(version string) (kit, error) {
	if missing := testenv.MissingTools("java", "mvn"); missing != "" {
		return kit{}, errors.New(missing)
	}
	home, err := home()
	if err != nil {
		return kit{}, err
	}
	target := filepath.Join(home, "target", version)
	k := kit{target: target, name: filepath.Join(target, "name"), keys: filepath.Join(target, "keys.jceks")}
	unlock, err := maven.Lock(target)
	if err != nil {
		return kit{}, err
	}
	defer unlock()
	var flags []string
	if version != "" {
		// Hadoop 3.1 answers over HTTP in another form if it finds these jars, which are newer than it.
		flags = []string{"-Dhadoop.version=" + version, "-Dhadoop.target=" + target, "-DexcludeArtifactIds=jackson-jaxrs-base,jackson-jaxrs-json-provider"}
	}
	if err := maven.Build(home, target, products, flags...); err != nil {
		return kit{}, err
	}
	return k, k.prepare()
}

// fetchHTTPFS fetches the jars that only the HttpFS gateway needs. They are in a directory of their
// own, because they conflict with the other jars.
var fetchHTTPFS = sync.OnceValue(func() error {
	home, err := home()
	if err != nil {
		return err
	}
	unlock, err := maven.Lock(filepath.Join(home, "target"))
	if err != nil {
		return err
	}
	defer unlock()
	return maven.Build(filepath.Join(home, "httpfs"), filepath.Join(home, "target", "httpfs"), products)
})

// home returns the directory of the pom, which is next to this package.
func home() (string, error) {
	dir, err := os.Getwd()
	for err == nil {
		h := filepath.Join(dir, "e2e", "hadoop")
		if _, err := os.Stat(filepath.Join(h, "pom.xml")); err == nil {
			return h, nil
		}
		if dir == filepath.Dir(dir) {
			err = errors.New("hadooptest: no e2e/hadoop/pom.xml above the working directory")
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// prepare formats a name node and makes a key, which would cost each cluster a few seconds.
func (k kit) prepare() error {
	if _, err := os.Stat(k.keys); err == nil {
		return nil
	}
	dir, err := os.MkdirTemp(k.target, "prepare-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := os.RemoveAll(k.name); err != nil {
		return err
	}
	core := properties{"fs.defaultFS": "hdfs://127.0.0.1:8020", "hadoop.tmp.dir": dir}
	hdfs := properties{"dfs.namenode.name.dir": fileURI(k.name)}
	if err := writeConf(dir, sites{"core": core, "hdfs": hdfs}); err != nil {
		return err
	}
	keys := filepath.Join(dir, "keys.jceks")
	for _, args := range [][]string{
		{"org.apache.hadoop.hdfs.server.namenode.NameNode", "-format", "-nonInteractive", "-force"},
		{"org.apache.hadoop.crypto.key.KeyShell", "create", EncryptionKey, "-size", "128", "-provider", "jceks://file" + escaped(keys)},
	} {
		cmd := exec.Command("java", k.javaArgs(dir, nil, args...)...)
		cmd.Env = environment()
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("java %s: %w\n%s", args[0], err, tail(out))
		}
	}
	return os.Rename(keys, k.keys)
}

// javaArgs returns the arguments of a Java program that reads the configuration in conf.
func (k kit) javaArgs(conf string, flags []string, args ...string) []string {
	all := append(k.javaFlags(), "-Dhadoop.log.dir="+conf)
	all = append(all, flags...)
	all = append(all, "-cp", conf+":"+strings.Join(k.classPath(), ":"))
	return append(all, args...)
}

// classPath returns the paths of the classes of Hadoop and of e2e/hadoop/src.
func (k kit) classPath() []string {
	return []string{filepath.Join(k.target, "classes"), filepath.Join(k.target, "lib") + "/*"}
}

// javaFlags returns the flags of every Java program of Hadoop.
func (k kit) javaFlags() []string {
	return append(quickJava(), "-Xmx256m", "-Djava.net.preferIPv4Stack=true", "-Dhadoop.home.dir="+k.target)
}

// quickJava returns flags that prefer a quick start and little memory to speed, and give
// Hadoop access to internals of Java 17.
func quickJava() []string {
	all := []string{"-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData", "-Xshare:auto"}
	for _, p := range []string{"lang", "io", "math", "net", "text", "util", "util.zip"} {
		all = append(all, "--add-opens=java.base/java."+p+"=ALL-UNNAMED")
	}
	for _, p := range []string{"sun.security.util", "sun.security.x509"} {
		all = append(all, "--add-opens=java.base/"+p+"=ALL-UNNAMED")
	}
	return all
}
