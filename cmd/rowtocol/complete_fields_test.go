package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/mailgen"
)

// TestCompletionOfFields checks that shells complete the fields of the rows that a command line
// names, after a comma as well.
func TestCompletionOfFields(t *testing.T) {
	dir := t.TempDir()
	var mail bytes.Buffer
	must(t, mailgen.Write(&mail, mailgen.Options{Rows: 10, Seed: 1}))
	write(t, dir+"/in/mail.avro", mail.Bytes())
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0)
	for _, c := range []struct {
		args, typed string
		has, lacks  []string
	}{
		{"cat out --columns", "", []string{"id", "from", "received", "received.host"}, nil},
		{"cat out --columns", "id,", []string{"id,from", "id,received.host"}, []string{"id,id"}},
		{"head out --columns", "", []string{"id"}, nil},
		{"stats out --columns", "", []string{"id"}, nil},
		{"lookup out 17 --columns", "", []string{"id"}, nil},
		{"cat in/mail.avro --columns", "", []string{"id", "received.host"}, nil},
		{"cat nodir --columns", "", nil, []string{"id"}},
		{"cat hdfs://nowhere.invalid/out --columns", "", nil, []string{"id"}},
		{"convert in new --index", "", []string{"id", "from"}, []string{"received", "received.host"}},
		{"convert --input in --dest new --index", "", []string{"id"}, nil},
		{"convert --format hfile in new --key", "from,", []string{"from,id"}, []string{"from,from"}},
		{"submit in/*.avro new --index", "", []string{"id"}, nil},
	} {
		o := rowtocol(t, dir, nil, append(append([]string{"__complete"}, strings.Fields(c.args)...), c.typed)...).want(t, 0)
		lines := "\n" + o.stdout
		for _, name := range c.has {
			if !strings.Contains(lines, "\n"+name+"\n") {
				t.Errorf("%s %q completes %q, want %s in it", c.args, c.typed, o.stdout, name)
			}
		}
		for _, name := range c.lacks {
			if strings.Contains(lines, "\n"+name+"\n") {
				t.Errorf("%s %q completes %q, want no %s in it", c.args, c.typed, o.stdout, name)
			}
		}
	}
}
