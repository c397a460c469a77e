package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// script makes a program that prints what the shell makes of a text. Called as convert, it
// makes an output instead.
func script(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "program")
	code := fmt.Sprintf("#!/bin/sh\nfor last; do :; done\ncase \" $* \" in *' convert '*) mkdir \"$last\";; *) %s;; esac\n", text)
	testenv.Must(t, os.WriteFile(path, []byte(code), 0o700))
	return path
}

func TestReading(t *testing.T) {
	for _, c := range []struct {
		name, program, base string
		want                string // in the error; empty for none
	}{
		{"same bytes", "echo rows", "", ""},
		{"bytes that depend on the workers", `echo "$*"`, "", "the output of 2 commands depends on the number of workers"},
		{"other bytes than those of the base", "echo rows", "echo others", ""},
		{"a refusal", `case "$*" in *64MiB*) exit 1;; esac`, "", ""},
		{"a failure", "exit 3", "", "mail/many/verify: "},
		{"a failure of the base", "echo rows", "exit 3", "mail/many/verify: "},
		{"a failure with little memory", `case "$*" in *64MiB*) exit 3;; esac`, "", "memory/mail/many/verify: "},
		{"much memory", `case "$*" in *64MiB*) head -c 150m /dev/zero | tail -c 150m > /dev/null;; esac`, "", "2 commands exceeded their memory"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bench{
				program: script(t, c.program), runs: 1, scale: 1e-5, dir: t.TempDir(), read: "trevni",
				only: regexp.MustCompile("^(memory/)?mail/many/verify"),
			}
			if c.base != "" {
				b.base = script(t, c.base)
			}
			err := b.runReading()
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
