package pipes

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// recording is a recorded exchange of a child with Hadoop 3.5.0, with a shortened
// configuration. A line of its file is the job's secret, or data that Java (down) or the child
// (up) sent, or says that one side hung up.
type recording struct {
	secret []byte
	events []event
}

type event struct {
	up    bool
	bytes []byte // nil if the side hung up
}

func readRecording(t testing.TB, name string) recording {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "yarn-3.5.0", name+".txt"))
	testenv.Must(t, err)
	var r recording
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		what, field, _ := strings.Cut(lines.Text(), " ")
		p, err := hex.DecodeString(field)
		if field == "end" {
			p, err = nil, nil
		}
		testenv.Must(t, err)
		if what == "secret" {
			r.secret = p
		} else {
			r.events = append(r.events, event{what == "up", p})
		}
	}
	return r
}

// play replays Java's part. It expects the child to send the recorded bytes.
func (r recording) play(java net.Conn) error {
	defer func() { _ = java.Close() }()
	for i, e := range r.events {
		switch {
		case e.up && e.bytes == nil:
			if n, err := java.Read(make([]byte, 1)); n > 0 || err == nil {
				return fmt.Errorf("event %d: the child has not hung up as recorded", i)
			}
		case e.bytes == nil:
			return nil
		case e.up:
			got := make([]byte, len(e.bytes))
			if n, err := io.ReadFull(java, got); err != nil || !bytes.Equal(got, e.bytes) {
				return fmt.Errorf("event %d: the child sent %x (%v), want %x", i, got[:n], err, e.bytes)
			}
		default:
			// An ABORT may not reach a child that has hung up.
			if _, err := java.Write(e.bytes); err != nil && len(e.bytes) > 1 {
				return fmt.Errorf("event %d: %w", i, err)
			}
		}
	}
	return errors.New("the recording has no end")
}

// listenAsJava starts a listener that acts as a JVM with a secret. It sends the connection
// when the child dials.
func listenAsJava(t testing.TB, secret []byte) <-chan net.Conn {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	file := filepath.Join(t.TempDir(), "jobTokenPassword")
	testenv.Must(t, os.WriteFile(file, secret, 0o400))
	t.Setenv("mapreduce_pipes_command_port", strconv.Itoa(listener.Addr().(*net.TCPAddr).Port))
	t.Setenv("hadoop_pipes_shared_secret_location", file)
	conns := make(chan net.Conn, 1)
	go func() {
		defer close(conns)
		if conn, err := listener.Accept(); err == nil {
			conns <- conn
		}
	}()
	return conns
}

func TestReplay(t *testing.T) {
	work := func(c *Conn) error {
		return errors.Join(c.Add(0, 1000), c.Add(1, 5_000_000_000), c.Add(1, -1), c.Progress(0.5),
			c.Status("écrit \x01 😀 "+strings.Repeat("x", 600)), c.Progress(1), c.Done())
	}
	for name, test := range map[string]struct {
		file  string
		child func(*Conn) error
		cause error // cause of the connection's end
	}{
		"done":   {"ok", work, ErrClosed},
		"sha256": {"ok", work, ErrClosed}, // hadoop.security.secret-manager.key-generator.algorithm=HmacSHA256
		"leaves": {"leaves", func(c *Conn) error {
			return errors.Join(c.Status("the reason why it leaves"), c.Close())
		}, ErrClosed},
		"counter": {"counter", func(c *Conn) error {
			c.counters = 5 // not registered with Java
			return c.Add(4, 1)
		}, ErrAborted},
		"killed": {"killed", func(c *Conn) error {
			return errors.Join(c.Progress(0), c.Progress(0.01), c.Progress(0.02))
		}, ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			r := readRecording(t, name)
			conns := listenAsJava(t, r.secret)
			c, err := Dial(t.Context())
			testenv.Must(t, err)
			defer func() { _ = c.Close() }()
			played := make(chan error, 1)
			go func() { played <- r.play(<-conns) }()
			task, err := c.Accept(t.Context())
			testenv.Must(t, err)
			if want := (Split{"hdfs://127.0.0.1:19000/P/in/" + test.file, 0, 11}); task.Split != want {
				t.Errorf("got split %+v, want %+v", task.Split, want)
			}
			if got := task.Conf["mapreduce.map.input.file"]; got != task.Split.Path {
				t.Errorf("the configuration has file %q, the split %q", got, task.Split.Path)
			}
			if err := c.Register(Counter{"rowtocol", "rows"}, Counter{"rowtocol", "input bytes"}); err != nil {
				t.Fatal(err)
			}
			if err := test.child(c); err != nil {
				t.Errorf("the child failed: %v", err)
			}
			if err := <-played; err != nil {
				t.Error(err)
			}
			waitEnd(t, c, test.cause)
		})
	}
}

// waitEnd waits for the end of a connection and checks its cause.
func waitEnd(t *testing.T, c *Conn, want error) {
	t.Helper()
	select {
	case <-c.Context().Done():
	case <-time.After(30 * time.Second):
		t.Fatal("the connection did not end")
	}
	if got := context.Cause(c.Context()); !errors.Is(got, want) {
		t.Errorf("the connection ended with %v, want %v", got, want)
	}
}
