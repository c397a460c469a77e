package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"
)

// setting is one key of a job file with its values; a list has several.
type setting struct {
	line   int
	values []string
}

// configure fills the flags that the command line left alone from the
// environment, then from the job file.
func (a *app) configure(cmd *cobra.Command) error {
	if env, ok := os.LookupEnv(envName("config")); ok && !cmd.Flags().Changed("config") {
		a.configFile = env
	}
	file := map[string]setting{}
	if a.configFile != "" {
		var err error
		if file, err = readConfig(a.configFile); err != nil {
			return &usageError{err}
		}
		if err := checkKeys(cmd.Root(), a.configFile, file); err != nil {
			return &usageError{err}
		}
	}
	var failed error
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if failed != nil || f.Changed || !configurable(f) {
			return
		}
		if env, ok := os.LookupEnv(envName(f.Name)); ok {
			if failed = setFlag(cmd, f, splitEnv(f, env)); failed != nil {
				failed = fmt.Errorf("environment variable %s: %w", envName(f.Name), failed)
			}
		} else if s, ok := file[f.Name]; ok {
			if failed = setFlag(cmd, f, s.values); failed != nil {
				failed = fmt.Errorf("%s:%d: %s: %w", a.configFile, s.line, f.Name, failed)
			}
		}
	})
	if failed != nil {
		return &usageError{failed}
	}
	return nil
}

// configurable excludes the flags that only make sense on the command line.
func configurable(f *pflag.Flag) bool {
	return f.Name != "config" && f.Name != "help" && f.Name != "version"
}

// envName is the environment variable of a flag: ROWTOCOL_BLOCK_SIZE for
// --block-size.
func envName(flag string) string {
	return "ROWTOCOL_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// repeatable says whether a flag may be given several times.
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

// readConfig reads a job file: a YAML mapping from flag names to a value, a
// list, or (for flags of the form KEY=VALUE) a mapping.
func readConfig(name string) (map[string]setting, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("job file: %w", err)
	}
	var doc yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(text))
	if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
		return map[string]setting{}, nil
	} else if err != nil {
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
	for i := 0; i+1 < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if _, twice := settings[key.Value]; twice {
			return nil, fmt.Errorf("%s:%d: %s is given twice", name, key.Line, key.Value)
		}
		values, err := scalars(value)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, value.Line, key.Value, err)
		}
		settings[key.Value] = setting{line: key.Line, values: values}
	}
	return settings, nil
}

func scalars(n *yaml.Node) ([]string, error) {
	var values []string
	switch n.Kind {
	case yaml.ScalarNode:
		if n.Tag == "!!null" {
			return nil, errors.New("has no value")
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

// checkKeys refuses keys that are a flag of no command. One job file serves
// all commands, so a key of another command is fine.
func checkKeys(root *cobra.Command, name string, file map[string]setting) error {
	known := map[string]bool{}
	collect := func(f *pflag.Flag) { known[f.Name] = known[f.Name] || configurable(f) }
	root.PersistentFlags().VisitAll(collect)
	for _, cmd := range root.Commands() {
		cmd.LocalNonPersistentFlags().VisitAll(collect)
	}
	for key, s := range file {
		if !known[key] {
			return fmt.Errorf("%s:%d: %q is not a flag of rowtocol", name, s.line, key)
		}
	}
	return nil
}
