package main

import (
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/avro/shred"
	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/internal/mailgen"
)

// TestConditionExamples parses the examples of the help.
func TestConditionExamples(t *testing.T) {
	s, err := shred.ParseSchema(mailgen.Schema)
	must(t, err)
	m, err := shred.Map(s, shred.Options{})
	must(t, err)
	for _, e := range conditionExamples {
		if _, err := where.Parse(e, m); err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
	for _, line := range strings.Split(conditionsTopic(nil).Long, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("wider than 80 columns: %s", line)
		}
	}
	if help := conditionsTopic(nil).Long; strings.Contains(help, "%!") || !strings.Contains(help, conditionExamples[0]) {
		t.Error(help)
	}
}
