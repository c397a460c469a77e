package pipes

import (
	"crypto/hmac"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"errors"
	"fmt"
	"hash"
	"io"
	"net"

	"github.com/rowtocol/rowtocol/internal/wire"
)

// MapTask is the map task that Java requests.
type MapTask struct {
	// Conf is the job's configuration with the task's own values. References in
	// values (${...}) are not resolved.
	Conf map[string]string
	// Split is the part of the input for which Java started the task.
	Split Split
}

// Split is a part of a file.
type Split struct {
	Path   string `json:"path"` // fully qualified: hdfs://name:8020/dir/file
	Start  int64  `json:"start"`
	Length int64  `json:"length"`
}

var errJavaReader = errors.New("the job's records are read by Java: mapreduce.pipes.isjavarecordreader has to be false")

// accept authenticates both ends and reads messages until it has a task.
func accept(d *decoder, w io.Writer, secret []byte) (*MapTask, error) {
	if err := authenticate(d, w, secret); err != nil {
		return nil, fmt.Errorf("authentication: %w", err)
	}
	var conf map[string]string
	for {
		switch m := d.next(); {
		case d.Err() != nil:
			return nil, connError(d.Err())
		case m == start:
			version := d.int("protocol version")
			//guard: rejects an unknown version of the protocol
			if d.Err() == nil && version != 0 {
				return nil, fmt.Errorf("%s: protocol version %d is not known", m, version)
			}
		case m == setJobConf:
			conf = readConf(d)
		case m == runMap:
			split, err := readMap(d)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", m, err)
			}
			return &MapTask{Conf: conf, Split: split}, nil
		case m == setInputTypes:
			return nil, errJavaReader
		case m == runReduce:
			return nil, fmt.Errorf("%s: the job has reduces: it has to be map-only", m)
		case m == abort:
			return nil, ErrAborted
		default:
			return nil, fmt.Errorf("unexpected %s before RUN_MAP", m)
		}
	}
}

// connError returns ErrGone for an error that shows that the connection has ended, and
// other errors, such as those of a message, unchanged.
func connError(err error) error {
	var network net.Error
	switch {
	case err == io.EOF:
		return ErrGone
	case errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &network):
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return err
}

// authenticate verifies that Java knows the job's secret, and proves to Java that this process
// knows it.
func authenticate(d *decoder, w io.Writer, secret []byte) error {
	m := d.next()
	if d.Err() == nil && m != authRequest {
		return fmt.Errorf("unexpected %s", m)
	}
	digest := d.bytes("digest", maxDigest)
	challenge := d.bytes("challenge", maxDigest)
	if d.Err() != nil {
		return connError(d.Err())
	}
	algorithm := algorithmOf(digest)
	if algorithm == nil {
		return fmt.Errorf("no known algorithm has a digest of %d characters", len(digest))
	}
	//guard: rejects a peer without the secret
	if !hmac.Equal(digest, sign(algorithm, secret, challenge)) {
		return errors.New("the other end does not know the job's secret")
	}
	p := wire.AppendText(wire.AppendVInt(nil, int64(authResponse)), sign(algorithm, secret, digest))
	if _, err := w.Write(p); err != nil {
		return connError(err)
	}
	return nil
}

// algorithmOf finds the hash algorithm by the digest's length. It is SHA-1, unless Hadoop 3.5
// or later has hadoop.security.secret-manager.key-generator.algorithm set. A child gets that
// property only after the authentication.
func algorithmOf(digest []byte) func() hash.Hash {
	for _, algorithm := range []func() hash.Hash{sha1.New, sha256.New, sha512.New384, sha512.New} {
		if base64.StdEncoding.EncodedLen(algorithm().Size()) == len(digest) {
			return algorithm
		}
	}
	return nil
}

// sign returns the HMAC of a text in Java's encoding.
func sign(algorithm func() hash.Hash, secret, text []byte) []byte {
	h := hmac.New(algorithm, secret)
	h.Write(text)
	return base64.StdEncoding.AppendEncode(nil, h.Sum(nil))
}

// readConf reads the names and values of properties.
func readConf(d *decoder) map[string]string {
	n := d.int("number of strings")
	//guard: rejects an odd or excessive number of strings
	if n < 0 || n > maxConfStrings || n%2 != 0 {
		d.Stop(fmt.Errorf("SET_JOB_CONF has %d strings: it can be an even number from 0 to %d", n, maxConfStrings))
	}
	conf := map[string]string{}
	left := maxConf
	for range n / 2 {
		name := d.bytes("name of a property", left)
		left -= len(name)
		value := d.bytes("value of a property", left)
		left -= len(value)
		if d.Err() != nil {
			return nil
		}
		conf[string(name)] = string(value)
	}
	return conf
}

// readMap reads the rest of RUN_MAP.
func readMap(d *decoder) (Split, error) {
	raw := d.bytes("split", maxSplit)
	reduces := d.int("number of reduces")
	piped := d.int("piped input")
	switch {
	case d.Err() != nil:
		return Split{}, connError(d.Err())
	//guard: rejects a job with reduces
	case reduces != 0:
		return Split{}, fmt.Errorf("the job has %d reduces: it has to be map-only", reduces)
	//guard: rejects input that Java reads itself
	case piped != 0:
		return Split{}, errJavaReader
	}
	return readSplit(raw)
}

// readSplit reads a FileSplit. Java does not send the class of a split, so only the length
// shows that a split has another class.
func readSplit(raw []byte) (Split, error) {
	c := wire.New(raw, 0)
	s := Split{
		Path:   string(c.Bytes(c.VInt("length of the path"), "path")),
		Start:  int64(c.BigEndian(8, "start")),
		Length: int64(c.BigEndian(8, "length")),
	}
	if err := c.Err(); err != nil {
		return Split{}, fmt.Errorf("split: %w", err)
	}
	//guard: rejects a split of another class
	if n := c.Remaining(); n > 0 {
		return Split{}, fmt.Errorf("split: %d bytes are left after a file's path, start and length", n)
	}
	//guard: rejects a range that no file has
	if s.Path == "" || s.Start < 0 || s.Start+s.Length < s.Start {
		return Split{}, fmt.Errorf("split: not a part of a file: %+v", s)
	}
	return s, nil
}
