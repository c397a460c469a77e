package main

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhereByIndex checks that a condition that an index bounds gives the same rows as one that
// no index bounds, because it has an alternative that holds for no row.
func TestWhereByIndex(t *testing.T) {
	mail, err := filepath.Abs("../../testdata/mail")
	must(t, err)
	dir := t.TempDir()
	rowtocol(t, dir, nil, "convert", "--row-group-size", "40000B", "--block-size", "4096",
		"--index", "id", "--index", "from,date", "--index", "score", "--index", "subject", mail, "out").want(t, 0)
	random := rand.New(rand.NewPCG(1, 2))
	operators := []string{"=", "<", "<=", ">", ">=", "!="}
	comparison := func() string {
		o := operators[random.IntN(len(operators))]
		switch random.IntN(6) {
		case 0:
			return fmt.Sprintf("id %s %d", o, random.IntN(810)-5)
		case 1:
			return fmt.Sprintf("score %s %g", o, random.Float64())
		case 2:
			return fmt.Sprintf("subject %s '%c'", o, 'a'+rune(random.IntN(26)))
		case 3:
			return fmt.Sprintf("from %s 'k%c'", o, 'a'+rune(random.IntN(26)))
		case 4:
			return fmt.Sprintf("id in (%d, %d)", random.IntN(800), random.IntN(800))
		}
		return fmt.Sprintf("date %s '2010-0%d-01T00:00:00Z'", o, 1+random.IntN(9))
	}
	used := 0
	for range 25 {
		where := comparison()
		for range random.IntN(3) {
			where += " and " + comparison()
		}
		got := rowtocol(t, dir, nil, "cat", "--columns", "id", "--stats", "--where", where, "out").want(t, 0)
		want := rowtocol(t, dir, nil, "cat", "--columns", "id", "--stats", "--where", "("+where+") or id = -1", "out").want(t, 0)
		if got.stdout != want.stdout {
			t.Errorf("%s: %q, want %q", where, got.stdout, want.stdout)
		}
		if strings.Contains(got.stderr, "by the index") {
			used++
		}
		if strings.Contains(want.stderr, "by the index") {
			t.Fatalf("an index is used for an alternative to %s", where)
		}
	}
	if used < 3 {
		t.Errorf("an index was used for only %d conditions", used)
	}
	rowtocol(t, dir, nil, "cat", "--stats", "--columns", "id", "--where", "id = 5", "out").want(t, 0, "by the index id")
	rowtocol(t, dir, nil, "cat", "--stats", "--columns", "id", "--where", "id > 5", "out").want(t, 0)
	rowtocol(t, dir, nil, "head", "--columns", "id", "--where", "id = 5", "out").want(t, 0, "5")
	rowtocol(t, dir, nil, "stats", "--columns", "id", "--where", "id = 5", "out").want(t, 0)
}

// TestWhereNullInIndex checks that cat reads all rows if an index on several fields lacks rows
// with a null, and that lookup warns of such rows.
func TestWhereNullInIndex(t *testing.T) {
	mail, err := filepath.Abs("../../testdata/mail")
	must(t, err)
	dir := t.TempDir()
	rowtocol(t, dir, nil, "convert", "--index", "from,score", mail, "out").want(t, 0)
	o := rowtocol(t, dir, nil, "cat", "--columns", "id", "--where", "from = 'clara.wei@example.net'", "out").want(t, 0)
	if rows := strings.Count(o.stdout, "\n"); rows != 8 {
		t.Errorf("%d rows, want 8", rows)
	}
	rowtocol(t, dir, nil, "lookup", "--columns", "id", "out", "clara.wei@example.net").want(t, 0, "with null in one of the fields from,score")
}

// TestWhereTriesIndexes checks that the index that finds the fewest rows is used.
func TestWhereTriesIndexes(t *testing.T) {
	dir := t.TempDir()
	mail, err := filepath.Abs("../../testdata/mail")
	must(t, err)
	rowtocol(t, dir, nil, "convert", "--index", "folder", "--index", "id", mail, "out").want(t, 0)
	rowtocol(t, dir, nil, "cat", "--stats", "--columns", "id", "--where", "folder >= 'A' and folder <= 'Z' and id = 5", "out").want(t, 0, "by the index id")
}
