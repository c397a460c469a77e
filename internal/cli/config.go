package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/rowtocol/rowtocol/internal/lazyregexp"
	"github.com/rowtocol/rowtocol/store"
)

// setting is a variable of the environment, or a key of a job file, with its values.
type setting struct {
	name   string // name in messages
	line   int
	values []string
}

// configure sets flags that are not on the command line: from the environment, or else from
// the job file. If a setting is wrong, it sets the others, which say where the failure is
// reported.
func (a *App) configure(cmd *cobra.Command) error {
	if env := os.Getenv(envName("config")); env != "" && !cmd.Flags().Changed("config") {
		a.configFile = env
	}
	file := map[string]setting{}
	var failed error
	if a.configFile != "" {
		file, failed = readConfig(cmd.Context(), a.configFile)
	}
	failed = cmp.Or(failed, checkNames(environment(), a.configFile, file))
	a.hasTable = os.Getenv(envName("table")) != ""
	for key := range file {
		a.hasTable = a.hasTable || strings.HasPrefix(key, tableSection)
	}
	a.origins = map[string]setting{}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Changed || !Configurable(f) {
			return
		}
		s, ok := file[keyOf(f.Name)]
		if env := os.Getenv(envName(f.Name)); env != "" {
			s, ok = setting{name: envName(f.Name), values: splitEnv(f, env)}, true
		}
		if !ok {
			return
		}
		a.origins[f.Name] = s
		if err := setFlag(cmd, f, s.values); err != nil {
			failed = cmp.Or(failed, fmt.Errorf("%s: %w", s.name, wrongValue(err)))
		}
	})
	a.nameJob(cmd.Annotations[JobSuffix])
	if failed != nil {
		return AsUsage(failed)
	}
	return nil
}

// aboutFlag finds the flag at the start of a message.
var aboutFlag = lazyregexp.New("^--([a-z0-9-]+)")

// withOrigin adds the value of a flag, and the origin of the value, to an error about the
// flag. It adds nothing that the message already has.
func (a *App) withOrigin(err error) error {
	usage := (*usageError)(nil)
	if a.Flags == nil || !errors.As(err, &usage) {
		return err
	}
	name := aboutFlag.FindStringSubmatch(err.Error())
	if name == nil {
		return err
	}
	f := a.Flags.Lookup(name[1])
	if f == nil || !f.Changed {
		return err
	}
	if s, ok := a.origins[f.Name]; ok {
		return fmt.Errorf("%w (%s is %s)", err, s.name, strings.Join(Shown(s.values), ","))
	}
	values := []string{f.Value.String()}
	if several, ok := f.Value.(pflag.SliceValue); ok {
		values = several.GetSlice()
	}
	named := strings.FieldsFunc(err.Error(), func(r rune) bool { return strings.ContainsRune(" :;,\"", r) })
	if slices.ContainsFunc(values, func(v string) bool {
		return strings.Contains(err.Error(), strconv.Quote(v)) || slices.Contains(named, v)
	}) {
		return err
	}
	return fmt.Errorf("%w (--%s %s was given)", err, f.Name, store.Showable(f.Value.String()))
}

// OnCommandLine reports whether a flag was given on the command line.
func (a *App) OnCommandLine(flag string) bool {
	_, elsewhere := a.origins[flag]
	return a.Flags.Changed(flag) && !elsewhere
}

// checkNames refuses variables of the environment, and keys of a job file, that are not flags of
// any command. The same environment and job file are for all commands and programs.
func checkNames(variables []string, configFile string, file map[string]setting) error {
	names := Settings()
	return errors.Join(checkVariables(names, variables), checkKeys(names, configFile, file))
}

// environment returns the names of the variables that begin as those of flags do, and that are
// not empty.
func environment() (names []string) {
	for _, e := range os.Environ() {
		if name, value, _ := strings.Cut(e, "="); strings.HasPrefix(name, EnvPrefix) && value != "" {
			names = append(names, name)
		}
	}
	return names
}

// checkVariables refuses variables that belong to no flag: a misspelt variable would be ignored
// silently.
func checkVariables(flags, variables []string) error {
	var known []string // names without the common prefix
	for _, name := range append(slices.Clip(flags), "config") {
		known = append(known, strings.TrimPrefix(envName(name), EnvPrefix))
	}
	for _, name := range variables {
		if rest := strings.TrimPrefix(name, EnvPrefix); !slices.Contains(known, rest) {
			return fmt.Errorf("environment variable %s: rowtocol has no such flag%s", name, DidYouMean(rest, EnvPrefix, known))
		}
	}
	return nil
}

// Configurable reports whether a flag makes sense outside the command line.
func Configurable(f *pflag.Flag) bool {
	return f.Name != "config" && f.Name != "help" && f.Name != "version"
}

// EnvPrefix begins the names of all environment variables that are flags.
const EnvPrefix = "ROWTOCOL_"

// envName returns the environment variable of a flag: ROWTOCOL_BLOCK_SIZE for
// --block-size.
func envName(flag string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// repeatable reports whether a flag may be given several times.
func repeatable(f *pflag.Flag) bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}

// splitEnv separates the values of a repeatable flag at commas.
func splitEnv(f *pflag.Flag, value string) []string {
	if repeatable(f) {
		return strings.Split(value, ",")
	}
	return []string{value}
}

func setFlag(cmd *cobra.Command, f *pflag.Flag, values []string) error {
	if !repeatable(f) && len(values) != 1 {
		return errors.New("takes one value, not a list")
	}
	for _, v := range values {
		if err := cmd.Flags().Set(f.Name, v); err != nil {
			return err
		}
	}
	return nil
}

// maxJobFile bounds a job file, in bytes.
const maxJobFile = 1 << 20

// readConfig reads a job file. It is a YAML mapping from flag names to a value, a
// list, or (for flags of the form KEY=VALUE) a mapping. The section table has the flags of tables. The file is on the local
// disk, because its settings say how to reach other storage.
func readConfig(ctx context.Context, name string) (map[string]setting, error) {
	text, err := ReadDocument(ctx, "--config", name, store.Location{Store: store.Local(), Path: name}, maxJobFile)
	if err != nil {
		return nil, err
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return map[string]setting{}, nil
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var more yaml.Node
	if err := dec.Decode(&more); err == nil {
		return nil, fmt.Errorf("%s:%d: a job file is one YAML document; another one begins here", name, more.Line)
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Tag == "!!null" {
		return map[string]setting{}, nil
	}
	if top.Kind != yaml.MappingNode {
		return nil, fmt.Errorf("%s:%d: a job file is a mapping of flag names to values", name, top.Line)
	}
	settings := map[string]setting{}
	if err := addSettings(settings, name, "", top); err != nil {
		return nil, err
	}
	return settings, nil
}

// addSettings adds the keys of a mapping, and those of the section tableSection. before begins the
// names of the keys.
func addSettings(settings map[string]setting, file, before string, mapping *yaml.Node) error {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, line, value := before+mapping.Content[i].Value, mapping.Content[i].Line, mapping.Content[i+1]
		if _, twice := settings[name]; twice {
			return fmt.Errorf("%s:%d: %s is given twice", file, line, name)
		}
		if name+"." == tableSection && value.Kind == yaml.MappingNode {
			if err := addSettings(settings, file, tableSection, value); err != nil {
				return err
			}
			continue
		}
		values, err := scalars(value)
		if err != nil {
			return fmt.Errorf("%s:%d: %s: %w", file, value.Line, name, err)
		}
		settings[name] = setting{name: fmt.Sprintf("%s:%d: %s", file, line, name), line: line, values: values}
	}
	return nil
}

func scalars(n *yaml.Node) ([]string, error) {
	var values []string
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil, errors.New(`has no value; the word null is written "null"`)
		}
		return []string{n.Value}, nil
	case yaml.SequenceNode:
		for _, item := range n.Content {
			if item.Kind != yaml.ScalarNode || item.Tag == "!!null" {
				return nil, errors.New("a list may only hold plain values")
			}
			values = append(values, item.Value)
		}
		return values, nil
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i+1].Kind != yaml.ScalarNode {
				return nil, errors.New("a mapping may only hold plain values")
			}
			values = append(values, n.Content[i].Value+"="+n.Content[i+1].Value)
		}
		return values, nil
	}
	return nil, errors.New("aliases are not supported")
}

// checkKeys refuses keys that are not flags of any command.
func checkKeys(flags []string, name string, file map[string]setting) error {
	keys := make([]string, len(flags))
	for i, f := range flags {
		keys[i] = keyOf(f)
	}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("%s:%d: %q is not a flag of rowtocol%s", name, file[key].line, key, DidYouMean(key, "", keys))
		}
	}
	return nil
}
