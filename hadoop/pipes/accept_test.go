package pipes

import (
	"bytes"
	"compress/gzip"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/internal/wire"
)

// orders builds what Java sends.
type orders struct{ p []byte }

func (o orders) code(m message, numbers ...int64) orders {
	p := wire.AppendVInt(bytes.Clone(o.p), int64(m))
	for _, n := range numbers {
		p = wire.AppendVInt(p, n)
	}
	return orders{p}
}

func (o orders) text(texts ...string) orders {
	p := bytes.Clone(o.p)
	for _, text := range texts {
		p = wire.AppendText(p, text)
	}
	return orders{p}
}

// authenticated is a Java that knows the secret "secret".
func authenticated() orders {
	return orders{}.code(authRequest).text(string(sign(sha1.New, []byte("secret"), []byte("1234"))), "1234")
}

func fileSplit(path string, start, length int64) string {
	p := binary.BigEndian.AppendUint64(wire.AppendText(nil, path), uint64(start))
	return string(binary.BigEndian.AppendUint64(p, uint64(length)))
}

// mapOf is a RUN_MAP.
func (o orders) mapOf(split string, reduces, piped int64) orders {
	o = o.code(runMap).text(split)
	return orders{wire.AppendVInt(wire.AppendVInt(o.p, reduces), piped)}
}

func acceptFrom(p []byte, secret string) (*MapTask, []byte, error) {
	var answer bytes.Buffer
	task, err := accept(newDecoder(bytes.NewReader(p)), &answer, []byte(secret))
	return task, answer.Bytes(), err
}

func TestAccept(t *testing.T) {
	whole := authenticated().code(start, 0).code(setJobConf, 4).text("a", "1", "b", "").mapOf(fileSplit("hdfs://n/f", 7, 9), 0, 0)
	task, answer, err := acceptFrom(whole.p, "secret")
	testenv.Must(t, err)
	if want := (Split{"hdfs://n/f", 7, 9}); task.Split != want || len(task.Conf) != 2 || task.Conf["a"] != "1" {
		t.Errorf("the task is %+v", task)
	}
	if len(answer) != 30 {
		t.Errorf("the answer is %q", answer)
	}
	for n := range whole.p {
		if _, _, err := acceptFrom(whole.p[:n], "secret"); !errors.Is(err, ErrGone) {
			t.Errorf("the first %d bytes are %v", n, err)
		}
	}
}

func TestAcceptRefuses(t *testing.T) {
	good := authenticated().code(start, 0).code(setJobConf, 0)
	split := fileSplit("hdfs://n/f", 0, 1)
	for name, test := range map[string]struct {
		in   orders
		want string
	}{
		"no authentication":   {orders{}.code(start, 0), "authentication: unexpected START"},
		"other secret":        {orders{}.code(authRequest).text(string(sign(sha1.New, []byte("guess"), []byte("1"))), "1"), "does not know"},
		"other digest":        {orders{}.code(authRequest).text("short", "1"), "5 characters is of no known algorithm"},
		"empty digest":        {orders{}.code(authRequest).text("", "1"), "0 characters is of no known algorithm"},
		"large digest":        {orders{}.code(authRequest, maxDigest+1), "digest of 1025 bytes"},
		"large challenge":     {orders{}.code(authRequest).text(strings.Repeat("x", 28)).code(maxDigest + 1), "challenge of 1025 bytes"},
		"second request":      {authenticated().code(authRequest), "unexpected AUTHENTICATION_REQ before RUN_MAP"},
		"other version":       {authenticated().code(start, 1), "protocol version 1 is not known"},
		"odd strings":         {authenticated().code(setJobConf, 3).text("a", "b", "c", "d"), "has 3 strings"},
		"negative strings":    {authenticated().code(setJobConf, -2).mapOf(split, 0, 0), "has -2 strings"},
		"many strings":        {authenticated().code(setJobConf, maxConfStrings+2), "has 131074 strings"},
		"large name":          {authenticated().code(setJobConf, 2, maxConf+1), "name of a property of 67108865 bytes"},
		"large value":         {authenticated().code(setJobConf, 2).text("a").code(maxConf), "expected 0 to 67108863"},
		"large configuration": {authenticated().code(setJobConf, 4).text("a", "b", "c").code(maxConf), "expected 0 to 67108861"},
		"reduce":              {good.code(runReduce, 0, 0), "the job has reduces"},
		"reduces":             {good.mapOf(split, 2, 0), "the job has 2 reduces"},
		"Java reads":          {good.mapOf(split, 0, 1), "isjavarecordreader has to be false"},
		"Java reads, first":   {good.code(setInputTypes).text("K", "V"), "isjavarecordreader has to be false"},
		"abort":               {good.code(abort), ErrAborted.Error()},
		"close":               {good.code(closeInput), "unexpected CLOSE before RUN_MAP"},
		"unknown":             {good.code(77), "unexpected message 77 before RUN_MAP"},
		"large split":         {good.code(runMap, maxSplit+1), "split of 65537 bytes"},
		"no split":            {good.mapOf("", 0, 0), "length of the path needs 1 bytes"},
		"short split":         {good.mapOf(split[:len(split)-1], 0, 0), "length needs 8 bytes, 7 remain"},
		"split of a class":    {good.mapOf(split+"\x00", 0, 0), "1 bytes are left"},
		"long path":           {good.mapOf("\x40hdfs://n/f", 0, 0), "path needs 64 bytes"},
		"no path":             {good.mapOf(fileSplit("", 0, 1), 0, 0), "no part of a file"},
		"negative start":      {good.mapOf(fileSplit("f", -1, 1), 0, 0), "no part of a file"},
		"negative length":     {good.mapOf(fileSplit("f", 1, -1), 0, 0), "no part of a file"},
		"beyond all files":    {good.mapOf(fileSplit("f", 1, math.MaxInt64), 0, 0), "no part of a file"},
	} {
		t.Run(name, func(t *testing.T) {
			if task, _, err := acceptFrom(test.in.p, "secret"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%+v, %v; want an error of %q", task, err, test.want)
			} else if errors.Is(err, ErrGone) {
				t.Errorf("Java is there, but: %v", err)
			}
		})
	}
}

// TestWhole reads the whole of what a Hadoop sent, with all its 1,695 properties.
func TestWhole(t *testing.T) {
	task, _, err := acceptFrom(append(authenticated().p, whole(t)...), "secret")
	testenv.Must(t, err)
	if want := (Split{"hdfs://127.0.0.1:19000/P/in/ok", 0, 11}); task.Split != want {
		t.Errorf("the split is %+v, want %+v", task.Split, want)
	}
	// References are Hadoop's configuration's business.
	if got := task.Conf["yarn.resourcemanager.address"]; len(task.Conf) != 1695 || got != "${yarn.resourcemanager.hostname}:8032" {
		t.Errorf("%d properties, one is %q", len(task.Conf), got)
	}
}

// whole returns START, SET_JOB_CONF and RUN_MAP of Hadoop 3.5.0.
func whole(t testing.TB) []byte {
	t.Helper()
	f, err := os.Open("testdata/yarn-3.5.0/whole.gz")
	testenv.Must(t, err)
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	testenv.Must(t, err)
	p, err := io.ReadAll(z)
	testenv.Must(t, err)
	return p
}
