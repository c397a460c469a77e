package pipestest

import (
	"bufio"
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/hadoop/pipes"
	"github.com/rowtocol/rowtocol/internal/testenv"
)

// Outcome holds the messages of a child.
type Outcome struct {
	// Ended reports whether the exchange is over, by DONE or by Err.
	Ended bool
	Done  bool
	Err   error // why the attempt failed

	Counters map[pipes.Counter]int64
	Statuses []string
	Progress []float32
}

// Java plays the JVM of a map task for its child.
type Java struct {
	t        testing.TB
	task     pipes.MapTask
	secret   []byte
	file     string // holds the secret
	listener net.Listener
	ended    chan struct{}

	mu      sync.Mutex // guards the fields below
	conn    net.Conn
	outcome Outcome
}

// Start starts a Java that waits for the child of a task. It ends with the test.
func Start(t testing.TB, task pipes.MapTask) *Java {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	j := &Java{
		t: t, task: task, listener: listener, ended: make(chan struct{}),
		secret: []byte("a secret of this job"), file: filepath.Join(t.TempDir(), "jobTokenPassword"),
		outcome: Outcome{Counters: map[pipes.Counter]int64{}},
	}
	testenv.Must(t, os.WriteFile(j.file, j.secret, 0o400))
	go j.run()
	t.Cleanup(func() {
		j.Die()
		<-j.ended
	})
	return j
}

// Environ returns the variables that Java adds to its child's environment.
func (j *Java) Environ() []string {
	return []string{
		"mapreduce_pipes_command_port=" + strconv.Itoa(j.listener.Addr().(*net.TCPAddr).Port),
		"hadoop_pipes_shared_secret_location=" + j.file,
	}
}

// Setenv makes the test's own process the child.
func (j *Java) Setenv() {
	j.t.Helper()
	j.t.Setenv("mapreduce_pipes_command_port", strconv.Itoa(j.listener.Addr().(*net.TCPAddr).Port))
	j.t.Setenv("hadoop_pipes_shared_secret_location", j.file)
}

// Abort fails the attempt on Java's side, but without the SIGTERM that Java sends to the
// child.
func (j *Java) Abort() { j.end(errors.New("aborted"), true) }

// Die hangs up without a message, as when the JVM is killed.
func (j *Java) Die() { j.end(errors.New("killed"), false) }

// Outcome returns the messages of the child so far.
func (j *Java) Outcome() Outcome {
	j.mu.Lock()
	defer j.mu.Unlock()
	out := j.outcome
	out.Counters = maps.Clone(out.Counters)
	out.Statuses = slices.Clone(out.Statuses)
	out.Progress = slices.Clone(out.Progress)
	return out
}

// Wait waits for the end of the exchange and returns the child's messages. It fails the
// test after a minute.
func (j *Java) Wait() Outcome {
	j.t.Helper()
	select {
	case <-j.ended:
	case <-time.After(time.Minute):
		j.t.Fatalf("the child has neither ended nor sent DONE: %+v", j.Outcome())
	}
	return j.Outcome()
}

// end records how the attempt ended and hangs up.
func (j *Java) end(err error, abort bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	_ = j.listener.Close()
	if !j.outcome.Ended {
		j.outcome.Ended, j.outcome.Done, j.outcome.Err = true, err == nil, err
		if abort && err != nil && j.conn != nil {
			_, _ = j.conn.Write([]byte{9})
		}
	}
	if j.conn != nil {
		_ = j.conn.Close()
	}
}

func (j *Java) run() {
	defer close(j.ended)
	conn, err := j.listener.Accept()
	if err != nil {
		return // the test is over
	}
	j.mu.Lock()
	j.conn = conn
	over := j.outcome.Ended
	j.mu.Unlock()
	if over {
		_ = conn.Close()
		return
	}
	u := &uplink{r: bufio.NewReader(conn)}
	if err := j.authenticate(conn, u); err != nil {
		j.end(err, false)
		return
	}
	if _, err := conn.Write(j.startMessages()); err != nil {
		j.end(err, true)
		return
	}
	err = j.listen(u)
	j.end(err, true)
}

// authenticate sends the challenge and checks the answer. It skips messages before it.
func (j *Java) authenticate(w io.Writer, u *uplink) error {
	challenge := "1157170617991751614127651431595213"
	digest := j.sign(challenge)
	if _, err := w.Write(texts([]byte{10}, digest, challenge)); err != nil {
		return err
	}
	for u.err == nil {
		if u.number() == 57 && u.err == nil {
			if answer := u.text(); answer != j.sign(digest) {
				return fmt.Errorf("the child's answer %q is not signed with the secret", answer)
			}
			return nil
		}
	}
	return u.err
}

func (j *Java) sign(text string) string {
	h := hmac.New(sha1.New, j.secret)
	h.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// startMessages returns START, SET_JOB_CONF and RUN_MAP.
func (j *Java) startMessages() []byte {
	p := number([]byte{0, 0, 1}, int64(2*len(j.task.Conf)))
	for name, value := range j.task.Conf {
		p = texts(p, name, value)
	}
	split := texts(nil, j.task.Split.Path)
	split = binary.BigEndian.AppendUint64(split, uint64(j.task.Split.Start))
	split = binary.BigEndian.AppendUint64(split, uint64(j.task.Split.Length))
	return append(texts(append(p, 3), string(split)), 0, 0)
}

// listen records the child's messages. It returns nil after DONE.
func (j *Java) listen(u *uplink) error {
	var counters []pipes.Counter
	for {
		code := u.number()
		if u.err != nil {
			return u.err
		}
		if code == 54 {
			return nil
		}
		var note func(*Outcome)
		switch code {
		case 52:
			text := u.text()
			note = func(o *Outcome) { o.Statuses = append(o.Statuses, text) }
		case 53:
			fraction := math.Float32frombits(binary.BigEndian.Uint32(u.take(4)))
			note = func(o *Outcome) { o.Progress = append(o.Progress, fraction) }
		case 55:
			if id := u.number(); u.err == nil && id != int64(len(counters)) {
				return fmt.Errorf("counter %d is not the next one", id)
			}
			c := pipes.Counter{Group: u.text(), Name: u.text()}
			counters = append(counters, c)
			note = func(o *Outcome) { o.Counters[c] += 0 }
		case 56:
			id, n := u.number(), u.number()
			if u.err == nil && (id < 0 || id >= int64(len(counters))) {
				return fmt.Errorf("invalid counter with id: %d", id)
			}
			note = func(o *Outcome) { o.Counters[counters[id]] += n }
		default:
			return fmt.Errorf("bad command code: %d", code)
		}
		if u.err != nil {
			return u.err
		}
		j.mu.Lock()
		note(&j.outcome)
		j.mu.Unlock()
	}
}
