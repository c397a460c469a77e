package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rowtocol/rowtocol/dataset"
	"github.com/rowtocol/rowtocol/dataset/inspect"
	"github.com/rowtocol/rowtocol/internal/cli"
	"github.com/rowtocol/rowtocol/internal/soak"
	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/trevni"
)

func TestConvertInspectVerify(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in/a.avro", 0, 95)
	writePairs(t, dir, "in/b.avro", 95, 7)
	before := fileSums(t, dir+"/in")
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "102 rows in 1 file,")
	wantUnchanged(t, dir+"/in", before)
	if left := fileSums(t, dir+"/tmp"); len(left) > 0 {
		t.Errorf("temporary files are left: %v", left)
	}
	made := fileSums(t, dir+"/out")

	var again converted
	o := rowtocol(t, dir, nil, "convert", "--json", "--exit-nothing", "99", "in", "out").want(t, 99)
	if r := o.object(t, &again); r.Status != "nothing" || !again.Nothing || again.Rows != 102 || len(again.Parts) != 1 {
		t.Errorf("%+v, %+v", r, again)
	}
	rowtocol(t, dir, nil, "convert", "in", "out").want(t, 0, "nothing to do")
	wantUnchanged(t, dir+"/out", made)

	rowtocol(t, dir, nil, "inspect", "out").want(t, 0, "102 rows, 2 columns", "words[]", "string[]", "avro.schema")
	var look inspected
	rowtocol(t, dir, nil, "inspect", "--json", "--count", "out").want(t, 0).object(t, &look)
	if len(look.Columns) != 2 || look.Rows != 102 || *look.Columns[0].Values != 102 || *look.Columns[1].Values != 102 {
		t.Errorf("%+v", look)
	}
	part := partOf(t, dir+"/out", 0)
	rowtocol(t, dir, nil, "inspect", "--bytes", part).want(t, 0, "avro.schema")
	rowtocol(t, dir, nil, "schema", part).want(t, 0, `"name": "Pair"`)
	rowtocol(t, dir, nil, "schema", "--shredded", "in/a.avro").want(t, 0, "words[]")

	rowtocol(t, dir, nil, "verify", "out").want(t, 0, "sound: 1 file, 102 rows")
	rowtocol(t, dir, nil, "verify", part).want(t, 0, "sound")
	rowtocol(t, dir, nil, "verify", "out", "--against", "in").want(t, 0, "102 rows of 2 inputs are equal")
	var v verified
	rowtocol(t, dir, nil, "verify", "--json", "out", "--against", "in/b.avro", "--against", "in/a.avro").want(t, 0).object(t, &v)
	if v.Against == nil || v.Against.Compared != 102 || v.Complete == nil || !*v.Complete {
		t.Errorf("%+v", v)
	}
	rowtocol(t, dir, nil, "verify", "out", "--against", "in/a.avro").want(t, 6, "7 rows more")
}

func TestExitCodes(t *testing.T) {
	dir := t.TempDir()
	whole := writePairs(t, dir, "good.avro", 0, 50)
	write(t, dir+"/damaged.avro", append(append([]byte{}, whole[:len(whole)-9]...), "not sync!"...))
	write(t, dir+"/text.avro", []byte("hello, this is no Avro file at all"))
	write(t, dir+"/file", nil)
	write(t, dir+"/full/other", []byte("someone else's"))
	write(t, dir+"/bad.yaml", []byte("colour: blue\n"))
	cases := []struct {
		name string
		args string
		env  string
		code int
		text string
	}{
		{"no command", "", "", 0, "Usage:"},
		{"unknown command", "konvert", "", 1, "konvert"},
		{"unknown flag", "convert --colour good.avro out", "", 1, "--colour"},
		{"too few arguments", "convert good.avro", "", 1, "usage"},
		{"bad size", "convert --row-group-size 64M good.avro out", "", 1, "64M"},
		{"bad codec", "convert --codec lzo good.avro out", "", 1, "lzo"},
		{"codec of an unknown column", "convert --codec nope=null good.avro out", "", 1, "nope"},
		{"values of an array", "convert --values words[] good.avro out", "", 1, "words[]"},
		{"reserved key", "convert --meta trevni.codec=x good.avro out", "", 1, "trevni.codec"},
		{"bad meta", "convert --meta x good.avro out", "", 1, "KEY=VALUE"},
		{"bad damage choice", "convert --on-damage ignore good.avro out", "", 1, "ignore"},
		{"bad workers", "convert --workers 0 good.avro out", "", 1, "--workers"},
		{"bad environment", "convert good.avro out", "ROWTOCOL_MEMORY=lots", 1, "ROWTOCOL_MEMORY"},
		{"unknown key", "convert --config bad.yaml good.avro out", "", 1, "bad.yaml:1"},
		{"missing job file", "convert --config none.yaml good.avro out", "", 1, "none.yaml"},
		{"endless job file", "convert --config /dev/zero good.avro out", "", 1, "/dev/zero: a device is not a regular file"},
		{"unsupported storage", "convert good.avro s3://bucket/out", "", 1, "s3"},
		{"destination is a file", "convert good.avro file", "", 1, "file"},
		{"input missing", "convert none.avro out", "", 3, "none.avro"},
		{"pattern without match", "convert none-*.avro out", "", 3, "none-*.avro"},
		{"not Avro", "convert text.avro out", "", 3, "text.avro"},
		{"damaged", "convert damaged.avro out", "", 3, "offset"},
		{"foreign files in the destination", "convert good.avro full", "", 9, "other"},
		{"inspect nothing", "inspect none.trv", "", 3, "none.trv"},
		{"inspect Avro", "inspect good.avro", "", 0, "50 rows in 5 blocks"},
		{"inspect an unfinished directory", "inspect full", "", 3, "_SUCCESS"},
		{"schema of text", "schema text.avro", "", 3, "text.avro"},
		{"verify Avro", "verify good.avro", "", 6, "convert it first"},
		{"verify nothing", "verify none.trv", "", 3, "none.trv"},
		{"parent is missing", "convert good.avro no/such/out", "", 7, "no/such"},
	}
	before := fileSums(t, dir)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := rowtocol(t, dir, []string{c.env}, strings.Fields(c.args)...).want(t, c.code, c.text)
			if c.code != 0 && len(o.warnings()) != 1 {
				t.Errorf("more than one line: %s", o.stderr)
			}
			if c.code != 0 && c.args != "" && !strings.Contains(c.args, "--colour") {
				o := rowtocol(t, dir, []string{c.env}, append(strings.Fields(c.args), "--json")...).want(t, c.code)
				if r := o.object(t, nil); r.Error == nil || r.Error.Message == "" || r.Status != statusOfCode(c.code) {
					t.Errorf("%+v", r)
				}
			}
		})
	}
	wantUnchanged(t, dir, before)
	wantAbsent(t, dir+"/out")
}

func TestPrecedence(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 5)
	write(t, dir+"/job.yaml", []byte("checksum: \"null\"\ncodec: [deflate, id=null]\nmeta: {from: file}\nmax-lost-rows: 7\ncount: true\n"))
	env := []string{"ROWTOCOL_CODEC=bzip2,id=snappy", "ROWTOCOL_CONFIG=" + dir + "/job.yaml", "ROWTOCOL_MAX_LOST_ROWS=8"}
	cases := []struct {
		name  string
		env   []string
		args  []string
		codec string
		id    string
		sum   string
		lost  int64
	}{
		{"default", nil, nil, "snappy", "", "crc32", -1},
		{"file", nil, []string{"--config", "job.yaml"}, "deflate", "null", "null", 7},
		{"environment", env, nil, "bzip2", "snappy", "null", 8},
		{"flag", env, []string{"--codec", "null", "--max-lost-rows", "9"}, "null", "", "null", 9},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var plan manifest.Plan
			args := append([]string{"convert", "--dry-run", "--json", "a.avro", "out"}, c.args...)
			rowtocol(t, dir, c.env, args...).want(t, 0).object(t, &plan)
			o, err := trevni.ParseOptions(plan.Request.Options.FormatOptions)
			lost := plan.Request.Options.MaxLostRows
			if err != nil || o.Codec != c.codec || o.ColumnCodecs["id"] != c.id || o.Checksum != c.sum || lost != c.lost {
				t.Errorf("%+v, %d lost rows, %v", o, lost, err)
			}
		})
	}
	rowtocol(t, dir, nil, "convert", "--dry-run", "a.avro", "out").want(t, 0, "1 task of", "a.avro")
	wantAbsent(t, dir+"/out")
}

func TestLosses(t *testing.T) {
	dir := t.TempDir()
	whole := writePairs(t, dir, "a.avro", 0, 50)
	whole[strings.Index(string(whole), "\x02\x0413\x00")+1] = 0x7f // a length in the second block
	write(t, dir+"/a.avro", whole)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 3, "a.avro", "offset")
	rowtocol(t, dir, nil, "convert", "--on-damage", "skip", "--max-lost-rows", "3", "a.avro", "out").want(t, 3)
	var c converted
	o := rowtocol(t, dir, nil, "convert", "--json", "--on-damage", "skip", "a.avro", "out").want(t, 8)
	if r := o.object(t, &c); r.Status != "losses" || c.Rows != 40 || len(c.Losses) != 1 || c.Losses[0].Rows != 10 {
		t.Errorf("%+v %+v", r, c)
	}
	rowtocol(t, dir, nil, "convert", "--on-damage", "skip", "--exit-nothing", "99", "a.avro", "out").want(t, 8, "nothing to do")
	rowtocol(t, dir, nil, "verify", "out", "--against", "a.avro").want(t, 0, "40 rows of 1 input are equal")
}

// TestVerifyFindsEveryByte changes each byte of an output in turn.
func TestVerifyFindsEveryByte(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 20)
	rowtocol(t, dir, nil, "convert", "--codec", "null", "a.avro", "out").want(t, 0)
	name := partOf(t, dir+"/out", 0)
	sound := read(t, name)
	step := max(len(sound)/soak.Rounds(20, 60), 1)
	for i := 0; i < len(sound); i += step {
		changed := append([]byte{}, sound...)
		changed[i] ^= 0x10
		write(t, name, changed)
		rowtocol(t, dir, nil, "verify", "out").want(t, 6, filepath.Base(name))
		rowtocol(t, dir, nil, "verify", name).want(t, 6, filepath.Base(name))
	}
	write(t, name, sound[:len(sound)-1])
	rowtocol(t, dir, nil, "verify", "out").want(t, 6, fmt.Sprint(len(sound)))
	write(t, name, sound)
	write(t, filepath.Join(dir, "out", "part-7.trv"), sound)
	rowtocol(t, dir, nil, "verify", "out").want(t, 6, "part-7.trv")
	must(t, os.Remove(filepath.Join(dir, "out", "part-7.trv")))
	rowtocol(t, dir, nil, "verify", "out").want(t, 0)
	must(t, os.Remove(name))
	rowtocol(t, dir, nil, "verify", "out").want(t, 6, "missing")
}

// TestVerifyReadsTheManifest checks that sound files must also be those of the manifest.
func TestVerifyReadsTheManifest(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 20)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	name := filepath.Join(dir, "out", "_SUCCESS")
	sound := read(t, name)
	lose := func(s *manifest.Success) {
		s.Request.Options.OnDamage = "skip"
		s.Losses = []manifest.Loss{{Input: s.Request.Inputs[0].Path, End: 1 << 40}}
	}
	for want, change := range map[string]func(*manifest.Success){
		"have 20 rows, and the document says 21": func(s *manifest.Success) { s.Rows++ },
		"have 22 rows, and the document says 20": func(s *manifest.Success) { s.Parts[0].Rows += 2 },
		"20 rows, _SUCCESS says 22":              func(s *manifest.Success) { s.Parts[0].Rows, s.Rows = 22, 22 },
		"bytes, _SUCCESS says 7":                 func(s *manifest.Success) { s.Parts[0].Files[0].Bytes, s.Bytes = 7, 7 },
		"bytes, and the document says 8":         func(s *manifest.Success) { s.Bytes = 8 },
		"have the CRC-32C":                       func(s *manifest.Success) { s.Parts[0].Files[0].CRC32C++ },
		"another schema":                         func(s *manifest.Success) { s.Schema = `{"type":"long"}` },
		"not of an input":                        lose,
		"the document says 20":                   func(s *manifest.Success) { s.Parts = nil },
	} {
		write(t, name, sound)
		changeManifest(t, dir+"/out", change)
		rowtocol(t, dir, nil, "verify", "out").want(t, 6, want)
		if strings.Contains(want, "the document says") {
			rowtocol(t, dir, nil, "cat", "out").want(t, 3, want)
		}
	}
}

// TestVerifyOfAReplacedOutput checks that an unlisted file is a difference, unless it
// belongs to an output that has replaced the verified one.
func TestVerifyOfAReplacedOutput(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 20)
	writePairs(t, dir, "b.avro", 0, 30)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	l, err := dataset.List(t.Context(), []store.Location{{Store: store.Local(), Path: dir + "/out"}}, dataset.Options{Formats: formats})
	must(t, err)
	write(t, dir+"/out/part-7.trv", nil)
	if found, err := strays(t.Context(), l); err != nil || len(found) != 1 {
		t.Errorf("%v, %v", found, err)
	}
	must(t, os.Remove(dir+"/out/part-7.trv"))
	rowtocol(t, dir, nil, "convert", "--overwrite", "b.avro", "out").want(t, 0)
	if _, err := strays(t.Context(), l); !errors.Is(err, dataset.ErrChanging) {
		t.Errorf("strays of a replaced output: %v", err)
	}
	if f := (&verifyCommand{app: &app{App: new(cli.App)}}).check(t.Context(), nil, l, &l.Parts[0]); !errors.Is(f.failed, dataset.ErrChanging) || len(f.found) > 0 {
		t.Errorf("a part of a replaced output: %v, %v", f.failed, f.found)
	}
	if _, err := inspect.Gather(t.Context(), l, inspect.Options{}); !errors.Is(err, dataset.ErrChanging) {
		t.Errorf("figures of a replaced output: %v", err)
	}
}

// TestOddNames converts a name that Java readers may refuse.
func TestOddNames(t *testing.T) {
	dir := t.TempDir()
	file := writePairs(t, dir, "a.avro", 0, 20)
	write(t, dir+"/a.avro", bytes.Replace(file, []byte(`"words"`), []byte(`"w-rds"`), 1))
	rowtocol(t, dir, nil, "convert", "--strict", "a.avro", "out").want(t, 3, "w-rds")
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0, "w-rds")
	rowtocol(t, dir, nil, "verify", "--require-complete", "out", "--against", "a.avro").want(t, 0, "20 rows of 1 input are equal")
}

// receiveSIGHUP makes programs that tests start receive SIGHUP, even if the tests ignore it.
func receiveSIGHUP() {
	if signal.Ignored(syscall.SIGHUP) {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
}

// TestSignals stops unfinished runs and lets the next one finish.
func TestSignals(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 400_000)
	receiveSIGHUP()
	for signal, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		cmd := startRowtocol(t, dir, "convert", "--codec", "bzip2", "--workers", "1", "a.avro", "out")
		waitFor(t, dir+"/tmp/*")
		must(t, cmd.Process.Signal(signal))
		waitCmd(t, cmd).want(t, code)
		if left, err := os.ReadDir(dir + "/tmp"); err != nil || len(left) > 0 {
			t.Errorf("%v: temporary files are left: %v, %v", signal, left, err)
		}
		wantAbsent(t, dir+"/out/_SUCCESS")
	}
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0, "400000 rows")
}

func TestFullStandardOutput(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		testenv.Skip(t, err.Error())
	}
	defer func() { _ = full.Close() }() // it holds nothing
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 3)
	cmd := command(t, "schema", dir+"/a.avro")
	cmd.Stdout = full
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 4 {
		t.Errorf("exit %d, want 4: %v", cmd.ProcessState.ExitCode(), err)
	}
}

func TestCompletion(t *testing.T) {
	dir := t.TempDir()
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		rowtocol(t, dir, nil, "completion", shell).want(t, 0, "rowtocol")
	}
	rowtocol(t, dir, nil, "__complete", "convert", "--on-damage", "").want(t, 0, "quarantine")
	rowtocol(t, dir, nil, "help", "exit-codes").want(t, 0, "130, 143")
}

// TestSchemaOfAnOutput prints the schema of an output with and without row groups.
func TestSchemaOfAnOutput(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 20)
	rowtocol(t, dir, nil, "convert", "a.avro", "out").want(t, 0)
	rowtocol(t, dir, nil, "schema", "out").want(t, 0, `"words"`)
	rowtocol(t, dir, nil, "schema", "--shredded", "out").want(t, 0, "words")
	must(t, os.Mkdir(dir+"/none", 0o777))
	rowtocol(t, dir, nil, "convert", "--allow-empty", "none", "empty").want(t, 0)
	rowtocol(t, dir, nil, "schema", "empty").want(t, 3, "no row group")
	rowtocol(t, dir, nil, "schema", "none").want(t, 3, "_SUCCESS")
}
