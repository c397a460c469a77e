package cluster

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
)

// Conf is a Hadoop client configuration. It does not change once it is made,
// and may be used concurrently.
type Conf struct {
	values map[string]string
	env    func(string) (string, bool)
}

// NewConf returns a configuration of the given properties. The map is copied. If a property is
// set under its old and its new name, the value of the new name applies.
func NewConf(properties map[string]string) *Conf {
	c := &Conf{values: make(map[string]string, len(properties)), env: os.LookupEnv}
	for key, value := range properties {
		name := currentName(key)
		if _, ok := properties[name]; ok && name != key {
			continue
		}
		c.values[name] = strings.TrimSpace(value)
	}
	return c
}

// With returns the configuration with further properties, which replace its own.
func (c *Conf) With(properties map[string]string) *Conf {
	n := NewConf(properties)
	for key, value := range c.values {
		if _, ok := n.values[key]; !ok {
			n.values[key] = value
		}
	}
	n.env = c.env
	return n
}

// LoadConf reads core-site.xml, hdfs-site.xml and the files more from HADOOP_CONF_DIR. If that is
// not set, it reads them from etc/hadoop or conf below HADOOP_HOME. Missing files are like empty
// files, and so is a missing directory below HADOOP_HOME. It is an error if HADOOP_CONF_DIR is
// set, but is not a directory. Errors name the file.
func LoadConf(more ...string) (*Conf, error) {
	dir, err := confDir()
	if err != nil || dir == "" {
		return NewConf(nil), err
	}
	l := loader{values: map[string]string{}, final: map[string]bool{}}
	for _, name := range append([]string{"core-site.xml", "hdfs-site.xml"}, more...) {
		err := l.file(filepath.Join(dir, name), 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return NewConf(l.values), nil
}

func confDir() (string, error) {
	if dir := os.Getenv("HADOOP_CONF_DIR"); dir != "" {
		info, err := os.Stat(dir)
		if err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", dir)
		}
		if err != nil {
			return "", fmt.Errorf("HADOOP_CONF_DIR: %w", err)
		}
		return dir, nil
	}
	home := os.Getenv("HADOOP_HOME")
	if home == "" {
		return "", nil
	}
	for _, below := range []string{"etc/hadoop", "conf"} {
		dir := filepath.Join(home, below)
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir, nil
		}
	}
	return "", nil
}

const maxInclusion = 20 // levels of xi:include

// loader collects properties as Hadoop does. A later value replaces an earlier value, unless the
// earlier value is final.
type loader struct {
	values map[string]string
	final  map[string]bool
}

// element is a property or an inclusion. Properties are written as elements or
// as attributes.
type element struct {
	XMLName   xml.Name
	Name      string    `xml:"name"`
	Value     *string   `xml:"value"`
	Final     string    `xml:"final"`
	NameAttr  string    `xml:"name,attr"`
	ValueAttr *string   `xml:"value,attr"`
	FinalAttr string    `xml:"final,attr"`
	Href      string    `xml:"href,attr"`
	Fallback  *struct{} `xml:"fallback"`
}

func (l *loader) file(name string, depth int) error {
	//guard: bounds how deep files include each other
	if depth > maxInclusion {
		return fmt.Errorf("%s: files include each other without end", name)
	}
	data, err := readFile(name)
	if err != nil {
		return err
	}
	elements, err := parseConf(data)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	for _, e := range elements {
		if err := l.element(name, e, depth); err != nil {
			return err
		}
	}
	return nil
}

func (l *loader) element(file string, e element, depth int) error {
	if e.XMLName.Local == "include" {
		target := strings.TrimPrefix(strings.TrimPrefix(e.Href, "file:"), "//")
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(file), target)
		}
		err := l.file(target, depth+1)
		switch {
		case errors.Is(err, fs.ErrNotExist) && e.Fallback != nil:
			return nil
		case err != nil:
			// Not wrapped: a file that is named explicitly must exist.
			return fmt.Errorf("%s: %v", file, err)
		}
		return nil
	}
	name, value, final := e.Name, e.Value, e.Final
	if e.NameAttr != "" {
		name = e.NameAttr
	}
	if e.ValueAttr != nil {
		value = e.ValueAttr
	}
	if e.FinalAttr != "" {
		final = e.FinalAttr
	}
	name = currentName(strings.TrimSpace(name))
	if name == "" || value == nil || l.final[name] {
		return nil
	}
	l.values[name] = *value
	l.final[name] = strings.TrimSpace(final) == "true"
	return nil
}

// parseConf returns the properties and inclusions of a configuration file, in order. It
// skips everything else.
func parseConf(data []byte) ([]element, error) {
	var document struct {
		XMLName  xml.Name  `xml:"configuration"`
		Elements []element `xml:",any"`
	}
	err := xml.Unmarshal(data, &document)
	switch {
	case errors.Is(err, io.EOF):
		return nil, errors.New("no <configuration> in it")
	case err != nil:
		return nil, err
	}
	elements := document.Elements[:0]
	for _, e := range document.Elements {
		if e.XMLName.Local == "property" || e.XMLName.Local == "include" {
			elements = append(elements, e)
		}
	}
	return elements, nil
}

// renamed maps the keys of old configurations to their new names.
var renamed = map[string]string{
	"fs.default.name":   "fs.defaultFS",
	"dfs.http.address":  "dfs.namenode.http-address",
	"dfs.https.address": "dfs.namenode.https-address",
	"dfs.umaskmode":     "fs.permissions.umask-mode",
}

func currentName(key string) string {
	if name, ok := renamed[key]; ok {
		return name
	}
	return key
}

// String returns the value of a key without the space around it, or def if the key is not set or
// its value is empty. ${other.key}, ${env.NAME}, ${env.NAME:-default} and ${user.name} are
// replaced. A reference without a value stays as it is.
func (c *Conf) String(key, def string) string {
	value, ok := c.values[key]
	if !ok {
		return def
	}
	if value = strings.TrimSpace(c.expand(value)); value == "" {
		return def
	}
	return value
}

var reference = lazyregexp.New(`\$\{[^}$ ]+\}`)

const (
	maxExpansion = 20      // replacements in one value, as in Hadoop
	maxExpanded  = 1 << 20 // most bytes of a value, because a value that refers to itself twice grows fast
)

func (c *Conf) expand(value string) string {
	from := 0
	for range maxExpansion {
		at := reference.FindStringIndex(value[from:])
		if at == nil {
			break
		}
		start, end := from+at[0], from+at[1]
		replacement, ok := c.lookup(value[start+2 : end-1])
		switch {
		case !ok:
			from = end
		//guard: bounds the length to which values expand
		case len(value)+len(replacement) > maxExpanded:
			return value
		default:
			value = value[:start] + replacement + value[end:]
		}
	}
	return value
}

func (c *Conf) lookup(name string) (string, bool) {
	variable, ok := strings.CutPrefix(name, "env.")
	if !ok {
		value, ok := c.values[name]
		if !ok && name == "user.name" {
			return osUser(), true
		}
		return value, ok
	}
	variable, def, hasDefault := strings.Cut(variable, "-")
	variable, whenEmpty := strings.CutSuffix(variable, ":")
	value, ok := c.env(variable)
	if hasDefault && (!ok || whenEmpty && value == "") {
		return def, true
	}
	return value, ok
}

// osUser returns the name of the user that runs the process.
func osUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}
