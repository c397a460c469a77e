package cluster

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

func writeFiles(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		testenv.Must(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Must(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

func site(properties ...string) string {
	return "<?xml version=\"1.0\"?>\n<configuration>" + strings.Join(properties, "\n") + "</configuration>"
}

func property(name, value string) string {
	return "<property><name>" + name + "</name><value>" + value + "</value></property>"
}

func TestLoadConf(t *testing.T) {
	dir := t.TempDir()
	writeFiles(t, dir, map[string]string{
		"core-site.xml": site(
			property("fs.default.name", " hdfs://old:9000 "),
			property("twice", "first"), property("twice", "second"),
			`<property><name>fixed</name><value>core</value><final> true </final></property>`,
			`<property name="attribute" value="yes" final="true"/>`,
			`<property><name>valueless</name></property>`,
			`<!-- a comment --><other><property/></other>`,
			property("later", "core")),
		"hdfs-site.xml": site(
			property("fixed", "hdfs"), property("attribute", "no"), property("later", "hdfs"),
			`<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="more.xml"/>`,
			`<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="none.xml"><xi:fallback/></xi:include>`),
		"more.xml":        site(property("included", "here")),
		"mapred-site.xml": site(property("later", "mapred")),
	})
	t.Setenv("HADOOP_CONF_DIR", dir)
	c, err := LoadConf()
	testenv.Must(t, err)
	for key, want := range map[string]string{
		"fs.defaultFS": "hdfs://old:9000",
		"twice":        "second",
		"fixed":        "core",
		"attribute":    "yes",
		"valueless":    "none",
		"later":        "hdfs",
		"included":     "here",
		"not.there":    "none",
	} {
		if got := c.String(key, "none"); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	if c, err = LoadConf("absent.xml", "mapred-site.xml"); err != nil || c.String("later", "") != "mapred" {
		t.Errorf("with more files: %v", err)
	}
}

func TestConfDir(t *testing.T) {
	home := t.TempDir()
	writeFiles(t, home, map[string]string{
		"conf/core-site.xml":       site(property("from", "conf")),
		"etc/hadoop/core-site.xml": site(property("from", "etc")),
		"dir/core-site.xml":        site(property("from", "dir")),
	})
	load := func(confDir, hadoopHome, want string) {
		t.Helper()
		t.Setenv("HADOOP_CONF_DIR", confDir)
		t.Setenv("HADOOP_HOME", hadoopHome)
		c, err := LoadConf()
		testenv.Must(t, err)
		if got := c.String("from", "nowhere"); got != want {
			t.Errorf("read %s, want %s", got, want)
		}
	}
	load(filepath.Join(home, "dir"), home, "dir")
	load("", home, "etc")
	testenv.Must(t, os.RemoveAll(filepath.Join(home, "etc")))
	load("", home, "conf")
	load("", filepath.Join(home, "dir"), "nowhere")
	load("", "", "nowhere")
	load(home, "", "nowhere")
}

func TestLoadConfErrors(t *testing.T) {
	dir := t.TempDir()
	include := `<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="`
	writeFiles(t, dir, map[string]string{
		"cut/core-site.xml":   site(property("a", "b"))[:60],
		"other/hdfs-site.xml": "<settings/>",
		"empty/hdfs-site.xml": "",
		"self/core-site.xml":  site(include + `core-site.xml"/>`),
		"away/core-site.xml":  site(include + `none.xml"/>`),
		"file":                "",
	})
	for name, says := range map[string]string{
		"cut":   "core-site.xml",
		"other": "hdfs-site.xml",
		"empty": "no <configuration>",
		"self":  "without end",
		"away":  "none.xml",
		"file":  "not a directory",
		"none":  "no such file",
	} {
		t.Setenv("HADOOP_CONF_DIR", filepath.Join(dir, name))
		if _, err := LoadConf(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want one that says %q", name, err, says)
		}
	}
}

func TestExpansion(t *testing.T) {
	t.Setenv("SET", "env")
	t.Setenv("BLANK", "")
	c := NewConf(map[string]string{
		"a":        "${b}/${b}",
		"b":        "x${c}",
		"c":        "y",
		"open":     "${nope} ${c}",
		"self":     "${self}1",
		"double":   "${double}${double}",
		"large":    strings.Repeat("x", maxExpanded/2),
		"fourfold": "${large}${large}${large}${large}",
		"env":      "${env.SET} ${env.BLANK:-empty} ${env.BLANK-kept} ${env.NOT_SET-def} ${env.NOT_SET:-a-b} ${env.NOT_SET}",
		"broken":   "${ ${} ${c",
		"blank":    "${env.BLANK}",
	})
	for key, want := range map[string]string{
		"a":      "xy/xy",
		"open":   "${nope} y",
		"env":    "env empty  def a-b ${env.NOT_SET}",
		"broken": "${ ${} ${c",
		"blank":  "default",
	} {
		if got := c.String(key, "default"); got != want {
			t.Errorf("%s: got %q, want %q", key, got, want)
		}
	}
	for _, key := range []string{"self", "double", "fourfold"} {
		if got := c.String(key, ""); len(got) > maxExpanded {
			t.Errorf("%s grew to %d bytes", key, len(got))
		}
	}
}

func TestValues(t *testing.T) {
	c := NewConf(map[string]string{
		"int": " 7 ", "hex": "0X10", "minus": "-3", "word": "many", "huge": "99999999999999999999",
		"true": " TRUE", "false": "false", "yes": "yes",
		"bare": "1500", "zero": "0s", "s": "30s", "S": "10 S", "ms": "3ms", "d": "2d", "fraction": "1.5s", "far": "9999999999d",
	})
	for key, want := range map[string]int{"int": 7, "hex": 16, "minus": -3, "word": 42, "huge": 42, "none": 42} {
		if got := c.Int(key, 42); got != want {
			t.Errorf("Int(%s) is %d, want %d", key, got, want)
		}
	}
	for key, want := range map[string]bool{"true": true, "false": false} {
		if c.Bool(key, !want) != want {
			t.Errorf("Bool(%s) is not %v", key, want)
		}
	}
	if !c.Bool("yes", true) || c.Bool("yes", false) || !c.Bool("none", true) {
		t.Error("Bool of a non-boolean is not the default")
	}
	def := 77 * time.Hour
	for key, want := range map[string]time.Duration{
		"bare": 1500 * time.Millisecond, "s": 30 * time.Second, "S": 10 * time.Second, "ms": 3 * time.Millisecond,
		"d": 48 * time.Hour, "minus": def, "zero": def, "fraction": def, "far": def, "word": def, "none": def,
	} {
		if got := c.Duration(key, def); got != want {
			t.Errorf("Duration(%s) is %v, want %v", key, got, want)
		}
	}
}

func TestUmask(t *testing.T) {
	for value, want := range map[string]uint32{
		"": 0o022, "077": 0o077, "0027": 0o027, "000": 0, "18": 0o022, "1022": 0o022, "g-w": 0o022, "none": 0o022,
		"u=rwx,g=rwx,o=": 0o007, "u=rwx,g=r-x,o=r-x": 0o022, "u=rwx, g=rx": 0o027, "a=rwx": 0, "o=r,g=rw": 0o713, "=rx": 0o222,
	} {
		if got := NewConf(map[string]string{"fs.permissions.umask-mode": value}).Umask(); got != want {
			t.Errorf("%q: %03o, want %03o", value, got, want)
		}
	}
	if got := NewConf(map[string]string{"dfs.umaskmode": "077"}).Umask(); got != 0o077 {
		t.Errorf("the old key: %03o", got)
	}
}

func FuzzConf(f *testing.F) {
	f.Add([]byte(site(property("a", "${b}"), property("b", "${a}${a}"))))
	f.Add([]byte(site(`<property name="a" value="b" final="true"/>`)))
	f.Add([]byte("<configuration><property><name>a</name>"))
	f.Fuzz(func(t *testing.T, data []byte) {
		elements, err := parseConf(data)
		if err != nil {
			return
		}
		l := loader{values: map[string]string{}, final: map[string]bool{}}
		for _, e := range elements {
			if e.XMLName.Local == "property" {
				testenv.Must(t, l.element("core-site.xml", e, 0))
			}
		}
		c := NewConf(l.values)
		for key := range l.values {
			_ = c.String(key, "")
			_ = c.Duration(key, 0)
		}
		if canonical, addrs, err := c.NameNodes("hdfs", ""); err == nil {
			again, same, err := c.NameNodes("hdfs", strings.TrimPrefix(canonical, "hdfs://"))
			if err != nil || again != canonical || len(same) != len(addrs) {
				t.Fatalf("%s is %s %v (%v)", canonical, again, same, err)
			}
		}
	})
}

// TestOldAndNewName checks a property that is set under its old and its new name. Java does the same.
func TestOldAndNewName(t *testing.T) {
	for range 20 { // the order of the map varies
		c := NewConf(map[string]string{"fs.default.name": "hdfs://old", "fs.defaultFS": "hdfs://new"})
		if got := c.String("fs.defaultFS", ""); got != "hdfs://new" {
			t.Fatalf("%s", got)
		}
	}
}

func TestWith(t *testing.T) {
	c := NewConf(map[string]string{"a": "1", "fs.defaultFS": "hdfs://old", "b": "${a}"})
	with := c.With(map[string]string{"a": " 2", "fs.default.name": "hdfs://new"})
	for key, want := range map[string]string{"a": "2", "b": "2", "fs.defaultFS": "hdfs://new"} {
		if got := with.String(key, ""); got != want {
			t.Errorf("%s is %s, want %s", key, got, want)
		}
	}
	if got := c.String("a", ""); got != "1" {
		t.Errorf("With changed its receiver: a is %s", got)
	}
}
