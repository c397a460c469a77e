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

// javaMessages builds messages from Java.
type javaMessages struct{ p []byte }

func (o javaMessages) code(m message, numbers ...int64) javaMessages {
	p := wire.AppendVInt(bytes.Clone(o.p), int64(m))
	for _, n := range numbers {
		p = wire.AppendVInt(p, n)
	}
	return javaMessages{p}
}

func (o javaMessages) text(texts ...string) javaMessages {
	p := bytes.Clone(o.p)
	for _, text := range texts {
		p = wire.AppendText(p, text)
	}
	return javaMessages{p}
}

// authRequestMessage is the request of a JVM that knows the secret "secret".
func authRequestMessage() javaMessages {
	return javaMessages{}.code(authRequest).text(string(sign(sha1.New, []byte("secret"), []byte("1234"))), "1234")
}

func fileSplit(path string, start, length int64) string {
	p := binary.BigEndian.AppendUint64(wire.AppendText(nil, path), uint64(start))
	return string(binary.BigEndian.AppendUint64(p, uint64(length)))
}

// runTask appends a RUN_MAP.
func (o javaMessages) runTask(split string, reduces, piped int64) javaMessages {
	o = o.code(runMap).text(split)
	return javaMessages{wire.AppendVInt(wire.AppendVInt(o.p, reduces), piped)}
}

func acceptFrom(p []byte, secret string) (*MapTask, []byte, error) {
	var answer bytes.Buffer
	task, err := accept(newDecoder(bytes.NewReader(p)), &answer, []byte(secret))
	return task, answer.Bytes(), err
}

func TestAccept(t *testing.T) {
	whole := authRequestMessage().code(start, 0).code(setJobConf, 4).text("a", "1", "b", "").runTask(fileSplit("hdfs://n/f", 7, 9), 0, 0)
	task, answer, err := acceptFrom(whole.p, "secret")
	testenv.Must(t, err)
	if want := (Split{"hdfs://n/f", 7, 9}); task.Split != want || len(task.Conf) != 2 || task.Conf["a"] != "1" {
		t.Errorf("got task %+v, want split %+v", task, want)
	}
	if len(answer) != 30 {
		t.Errorf("got answer %q of %d bytes, want 30", answer, len(answer))
	}
	for n := range whole.p {
		if _, _, err := acceptFrom(whole.p[:n], "secret"); !errors.Is(err, ErrGone) {
			t.Errorf("the first %d bytes: got error %v, want %v", n, err, ErrGone)
		}
	}
}

func TestAcceptRefuses(t *testing.T) {
	good := authRequestMessage().code(start, 0).code(setJobConf, 0)
	split := fileSplit("hdfs://n/f", 0, 1)
	for name, test := range map[string]struct {
		in   javaMessages
		want string
	}{
		"no authentication":   {javaMessages{}.code(start, 0), "authentication: unexpected START"},
		"other secret":        {javaMessages{}.code(authRequest).text(string(sign(sha1.New, []byte("guess"), []byte("1"))), "1"), "does not know"},
		"other digest":        {javaMessages{}.code(authRequest).text("short", "1"), "no known algorithm has a digest of 5 characters"},
		"empty digest":        {javaMessages{}.code(authRequest).text("", "1"), "no known algorithm has a digest of 0 characters"},
		"large digest":        {javaMessages{}.code(authRequest, maxDigest+1), "digest of 1025 bytes"},
		"large challenge":     {javaMessages{}.code(authRequest).text(strings.Repeat("x", 28)).code(maxDigest + 1), "challenge of 1025 bytes"},
		"second request":      {authRequestMessage().code(authRequest), "unexpected AUTHENTICATION_REQ before RUN_MAP"},
		"other version":       {authRequestMessage().code(start, 1), "protocol version 1 is not known"},
		"odd strings":         {authRequestMessage().code(setJobConf, 3).text("a", "b", "c", "d"), "has 3 strings"},
		"negative strings":    {authRequestMessage().code(setJobConf, -2).runTask(split, 0, 0), "has -2 strings"},
		"many strings":        {authRequestMessage().code(setJobConf, maxConfStrings+2), "has 131074 strings"},
		"large name":          {authRequestMessage().code(setJobConf, 2, maxConf+1), "name of a property of 67108865 bytes"},
		"large value":         {authRequestMessage().code(setJobConf, 2).text("a").code(maxConf), "expected 0 to 67108863"},
		"large configuration": {authRequestMessage().code(setJobConf, 4).text("a", "b", "c").code(maxConf), "expected 0 to 67108861"},
		"reduce":              {good.code(runReduce, 0, 0), "the job has reduces"},
		"reduces":             {good.runTask(split, 2, 0), "the job has 2 reduces"},
		"Java reads":          {good.runTask(split, 0, 1), "isjavarecordreader has to be false"},
		"Java reads, first":   {good.code(setInputTypes).text("K", "V"), "isjavarecordreader has to be false"},
		"abort":               {good.code(abort), ErrAborted.Error()},
		"close":               {good.code(closeInput), "unexpected CLOSE before RUN_MAP"},
		"unknown":             {good.code(77), "unexpected message 77 before RUN_MAP"},
		"large split":         {good.code(runMap, maxSplit+1), "split of 65537 bytes"},
		"no split":            {good.runTask("", 0, 0), "length of the path needs 1 bytes"},
		"short split":         {good.runTask(split[:len(split)-1], 0, 0), "length needs 8 bytes, 7 remain"},
		"split of a class":    {good.runTask(split+"\x00", 0, 0), "1 bytes are left"},
		"long path":           {good.runTask("\x40hdfs://n/f", 0, 0), "path needs 64 bytes"},
		"no path":             {good.runTask(fileSplit("", 0, 1), 0, 0), "not a part of a file"},
		"negative start":      {good.runTask(fileSplit("f", -1, 1), 0, 0), "not a part of a file"},
		"negative length":     {good.runTask(fileSplit("f", 1, -1), 0, 0), "not a part of a file"},
		"beyond all files":    {good.runTask(fileSplit("f", 1, math.MaxInt64), 0, 0), "not a part of a file"},
	} {
		t.Run(name, func(t *testing.T) {
			if task, _, err := acceptFrom(test.in.p, "secret"); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %+v, %v; want an error with %q", task, err, test.want)
			} else if errors.Is(err, ErrGone) {
				t.Errorf("got %v, but Java has not hung up", err)
			}
		})
	}
}

// TestWhole checks that the complete messages of a real Hadoop are read, with all 1,695
// properties.
func TestWhole(t *testing.T) {
	task, _, err := acceptFrom(append(authRequestMessage().p, readWhole(t)...), "secret")
	testenv.Must(t, err)
	if want := (Split{"hdfs://127.0.0.1:19000/P/in/ok", 0, 11}); task.Split != want {
		t.Errorf("got split %+v, want %+v", task.Split, want)
	}
	// References are not resolved.
	if got := task.Conf["yarn.resourcemanager.address"]; len(task.Conf) != 1695 || got != "${yarn.resourcemanager.hostname}:8032" {
		t.Errorf("%d properties, one is %q", len(task.Conf), got)
	}
}

// readWhole returns START, SET_JOB_CONF and RUN_MAP as Hadoop 3.5.0 sent them.
func readWhole(t testing.TB) []byte {
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
