package column

import (
	"fmt"
	"strings"
	"testing"
)

// TestNoSuchName checks that the error about a path without a column suggests similar names, or lists
// the first columns or those below the path.
func TestNoSuchName(t *testing.T) {
	all := []string{"id", "m>key", "m>value", "a[]#b/int", "r#b", "r#c"}
	names := NewNames("column", len(all), func(i int) string { return all[i] })
	many := NewNames("column", 11, func(i int) string { return fmt.Sprintf("c%d", i) })
	for _, tt := range []struct {
		names      *Names
		path, want string
	}{
		{names, "ID", "there is no such column; did you mean id?"},
		{names, "m>kye", "there is no such column; did you mean m>key?"},
		{names, "other", "there is no such column; the columns are id, m>key, m>value, a[]#b/int, r#b, r#c"},
		{names, "m", "there is no such column; below it are m>key, m>value"},
		{names, "r", "there is no such column; below it are r#b, r#c"},
		{names, "a", "there is no such column; below it are a[]#b/int"},
		{many, "c", "there is no such column; the columns are c0, c1, c2, c3, c4, c5, c6, c7, c8, c9, …"},
	} {
		if _, err := tt.names.Find(tt.path); err == nil || err.Error() != tt.want {
			t.Errorf("%s: got %v, want %s", tt.path, err, tt.want)
		}
	}
	if err := names.Missing("a.b"); err.Error() != "there is no such column; did you mean a[]#b/int?" {
		t.Errorf("got %v", err)
	}
	err := names.FindAll("--x", map[string]string{"id": "1", "ix": "2"}, func(int, string) {})
	if err == nil || !strings.HasPrefix(err.Error(), "--x ix=2: there is no such column; ") {
		t.Errorf("got %v", err)
	}
}

// TestContradictions checks that different values of one column are an error, and equal ones are not.
func TestContradictions(t *testing.T) {
	names := NewNames("column", 2, func(i int) string { return []string{"r#b", "a"}[i] })
	for _, tt := range []struct {
		texts []string
		want  string
	}{
		{[]string{"a=x", "a=x", "z", "z"}, ""},
		{[]string{"a=x", "z"}, ""},
		{[]string{"a=x", "a=y"}, `--o "a=x" and "a=y" contradict each other`},
		{[]string{"x", "a=x", "y"}, `--o "x" and "y" contradict each other`},
		{[]string{"r.b=x", "r#b=x"}, ""},
		{[]string{"r.b=x", "r#b=y"}, `--o "r#b=y" and "r.b=x" contradict each other`},
	} {
		_, values, err := CutValues("--o", tt.texts)
		if err == nil {
			err = names.FindAll("--o", values, func(int, string) {})
		}
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || err.Error() != tt.want) {
			t.Errorf("%q: got %v, want %q", tt.texts, err, tt.want)
		}
	}
}
