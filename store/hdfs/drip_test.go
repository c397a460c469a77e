package hdfs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/rowtocol/rowtocol/internal/testenv"
	"github.com/rowtocol/rowtocol/store"
	"github.com/rowtocol/rowtocol/store/storetest"
)

// drip sends bytes one at a time, forever.
func drip(c net.Conn, bytes string) error {
	for i := 0; ; i++ {
		if _, err := c.Write([]byte{bytes[i%len(bytes)]}); err != nil {
			return err
		}
		time.Sleep(storetest.Drop)
	}
}

// listen serves connections on a free port, and returns the port.
func listen(t *testing.T, connection func(c net.Conn) error) (port int) {
	t.Helper()
	d := newDataNode(t, "") // ends with the test
	l, err := net.Listen("tcp", "127.0.0.1:0")
	testenv.Must(t, err)
	d.served.Go(func() { serve(l, connection) })
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).Port
}

// TestDrippingNameNode has a name node that is never silent for long, nor finishes.
func TestDrippingNameNode(t *testing.T) {
	port := listen(t, func(c net.Conn) error { return drip(c, "\x00\x00\xff\xff"+strings.Repeat("x", 60_000)) })
	s, err := newStore(t, nil, fmt.Sprint("127.0.0.1:", port))
	testenv.Must(t, err)
	defer func() { _ = s.Close() }()
	s.callTimeout = storetest.Silence
	storetest.Unavailable(t, func(ctx context.Context) error {
		_, err := s.Stat(ctx, "/f")
		if err == nil || !strings.Contains(err.Error(), "no whole answer for") {
			t.Error(err)
		}
		return err
	})
}

// TestDrippingDataNode checks that reads from a dripping data node end.
func TestDrippingDataNode(t *testing.T) {
	sound := appendMessage(jsonMessage("hadoop.hdfs.BlockOpResponseProto",
		`{"status":"SUCCESS","message":"fine","readOpChecksumInfo":{"checksum":{"type":"CHECKSUM_NULL","bytesPerChecksum":512},"chunkOffset":0}}`), nil)
	whole := packet([]byte(strings.Repeat("x", 60<<10)), nil, false)
	for name, tt := range map[string]struct{ at, drips string }{
		"an answer":        {"", "\x20"},
		"a packet's head":  {string(sound), "\x00"},
		"a packet's bytes": {string(sound) + string(whole[:1000]), "x"},
	} {
		t.Run(name, func(t *testing.T) {
			port := listen(t, func(c net.Conn) error {
				if _, err := io.WriteString(c, tt.at); err != nil {
					return err
				}
				return drip(c, tt.drips)
			})
			_, s := newNameNode(t, readAnswers(60<<10, port))
			s.dataTimeout = storetest.Silence
			storetest.Unavailable(t, func(ctx context.Context) error { _, err := s.ReadFile(ctx, "/f", 1<<20); return err })
		})
	}
}

// TestHugeMessage checks that a length is refused before the library allocates it.
func TestHugeMessage(t *testing.T) {
	port := listen(t, func(c net.Conn) error {
		_, err := c.Write([]byte("\xff\xff\xff\xff\x7f----------"))
		time.Sleep(storetest.Drop)
		return err
	})
	_, s := newNameNode(t, readAnswers(5, port))
	_, err := s.ReadFile(storetest.Bounded(t), "/f", 10)
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "a message of 34359738367 bytes") {
		t.Error(err)
	}
}

// TestUnsoundAcknowledgements has data nodes that never acknowledge a file.
func TestUnsoundAcknowledgements(t *testing.T) {
	beat := appendMessage(jsonMessage("hadoop.hdfs.PipelineAckProto", `{"seqno":-1,"reply":["SUCCESS"],"downstreamAckTimeNanos":1000}`), nil)
	for name, answer := range map[string]func(c net.Conn) error{
		"dripping": func(c net.Conn) error { return drip(c, "\x70\x08") },
		"heartbeats without end": func(c net.Conn) error {
			for {
				if _, err := c.Write(beat); err != nil {
					return err
				}
				time.Sleep(time.Millisecond)
			}
		},
		"huge": func(c net.Conn) error { _, err := c.Write([]byte("\xff\xff\xff\xff\x7f----------")); return err },
	} {
		t.Run(name, func(t *testing.T) {
			port := listen(t, func(c net.Conn) error {
				in := bufio.NewReader(c)
				go func() { _, _ = io.Copy(io.Discard, in) }()
				response := jsonMessage("hadoop.hdfs.BlockOpResponseProto", `{"status":"SUCCESS","message":"fine"}`)
				if _, err := c.Write(appendMessage(response, nil)); err != nil {
					return err
				}
				return answer(c)
			})
			_, s := newNameNode(t, writeAnswers(5, port))
			s.dataTimeout = storetest.Silence
			storetest.Unavailable(t, func(ctx context.Context) error {
				w, err := s.Create(ctx, "/d/f", store.CreateOptions{Size: 5})
				testenv.Must(t, err)
				defer func() { _ = w.Abort() }()
				if _, err = io.WriteString(w, "hello"); err == nil {
					err = w.Commit(ctx)
				}
				return err
			})
		})
	}
}

// endless is a name node whose listing never ends.
type endless int

func (e *endless) Execute(_ string, _, response proto.Message) error {
	*e++
	time.Sleep(2 * storetest.Silence) // faster, it would keep pace
	name := fmt.Sprintf("%09d", *e)
	return protojson.Unmarshal([]byte(`{"dirList":{"partialListing":[`+statusJSON("IS_FILE", name, 1, "")+`],"remainingEntries":1}}`), response)
}

func TestEndlessListing(t *testing.T) {
	_, s := newNameNode(t, answers{})
	se, err := s.acquire(t.Context())
	testenv.Must(t, err)
	defer se.close()
	s.callTimeout, se.rpc = 3*storetest.Silence, new(endless)
	storetest.Unavailable(t, func(context.Context) error {
		_, err := se.list("/d")
		return err
	})
}
