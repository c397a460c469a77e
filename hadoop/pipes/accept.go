package pipes

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// MapTask is what Java wants done.
type MapTask struct {
	// Conf is the job's configuration with the task's own values. References in
	// values (${...}) are as they were written.
	Conf map[string]string
	// Split is the part of the input that the task is for.
	Split Split
}

// Split is a part of a file.
type Split struct {
	Path          string // fully qualified: hdfs://name:8020/dir/file
	Start, Length int64
}

var errJavaReader = errors.New("the job's records are read by Java: mapreduce.pipes.isjavarecordreader has to be false")

// accept speaks with Java until there is a task.
func accept(d *decoder, w io.Writer, secret []byte) (*MapTask, error) {
	if err := authenticate(d, w, secret); err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	var conf map[string]string
	for {
		switch m := d.next(); {
		case d.err != nil:
			return nil, d.err
		case m == start:
			if v := d.int("protocol version"); d.err == nil && v != 0 {
				return nil, fmt.Errorf("%s: protocol version %d is not known", m, v)
			}
		case m == setJobConf:
			conf = readConf(d)
		case m == setInputTypes:
			return nil, errJavaReader
		case m == runMap:
			split, err := readMap(d)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m, err)
			}
			return &MapTask{Conf: conf, Split: split}, nil
		default:
			return nil, fmt.Errorf("unexpected %s before RUN_MAP", m)
		}
	}
}

func authenticate(d *decoder, w io.Writer, secret []byte) error {
	if m := d.next(); d.err == nil && m != authRequest {
		return fmt.Errorf("unexpected %s", m)
	}
	digest := d.bytes("digest", maxDigest)
	challenge := d.bytes("challenge", maxDigest)
	if d.err != nil {
		return d.err
	}
	if !hmac.Equal(digest, sign(secret, challenge)) {
		return errors.New("the other end does not know the job's secret")
	}
	_, err := w.Write(appendText(appendLong(nil, int64(authResponse)), string(sign(secret, digest))))
	return err
}

func sign(secret, text []byte) []byte {
	h := hmac.New(sha1.New, secret)
	h.Write(text)
	return base64.StdEncoding.AppendEncode(nil, h.Sum(nil))
}

func readConf(d *decoder) map[string]string {
	n := d.int("number of strings")
	if n < 0 || n > maxConfStrings || n%2 != 0 {
		d.fail(fmt.Errorf("SET_JOB_CONF has %d strings: it can be an even number from 0 to %d", n, maxConfStrings))
	}
	conf := map[string]string{}
	left := maxConf
	for range n / 2 {
		name := d.bytes("name of a property", left)
		left -= len(name)
		value := d.bytes("value of a property", left)
		left -= len(value)
		if d.err != nil {
			return nil
		}
		conf[string(name)] = string(value)
	}
	return conf
}

func readMap(d *decoder) (Split, error) {
	raw := d.bytes("split", maxSplit)
	reduces := d.int("number of reduces")
	piped := d.int("piped input")
	switch {
	case d.err != nil:
		return Split{}, d.err
	case reduces != 0:
		return Split{}, fmt.Errorf("the job has %d reduces: it has to be map-only", reduces)
	case piped != 0:
		return Split{}, errJavaReader
	}
	return readSplit(raw)
}

// readSplit reads a FileSplit.
func readSplit(raw []byte) (Split, error) {
	d := decoderOf(bytes.NewReader(raw))
	path := d.bytes("path", len(raw))
	var numbers [16]byte
	d.read("start and length", numbers[:])
	if d.err != nil {
		return Split{}, fmt.Errorf("split: %w", d.err)
	}
	if n := d.r.Buffered(); n > 0 {
		return Split{}, fmt.Errorf("split: %d bytes are left behind a file's path, start and length", n)
	}
	s := Split{
		Path:   string(path),
		Start:  int64(binary.BigEndian.Uint64(numbers[:8])),
		Length: int64(binary.BigEndian.Uint64(numbers[8:])),
	}
	if s.Path == "" || s.Start < 0 || s.Length < 0 || s.Start > math.MaxInt64-s.Length {
		return Split{}, fmt.Errorf("split: no part of a file: %+v", s)
	}
	return s, nil
}
