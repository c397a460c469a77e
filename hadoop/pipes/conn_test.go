package pipes

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// mapTaskMessages are the messages of a JVM that requests a map task.
func mapTaskMessages() javaMessages {
	return authRequestMessage().code(start, 0).code(setJobConf, 0).runTask(fileSplit("hdfs://n/f", 0, 1), 0, 0)
}

// dial returns both ends of a connection before any message.
func dial(ctx context.Context, t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	conns := listenAsJava(t, []byte("secret"))
	c, err := Dial(ctx)
	testenv.Must(t, err)
	java := <-conns
	t.Cleanup(func() {
		_ = java.Close()
		_ = c.Close()
	})
	return c, java.(*net.TCPConn)
}

// acceptTask returns both ends of a connection with an accepted task.
func acceptTask(ctx context.Context, t *testing.T) (*Conn, *net.TCPConn) {
	t.Helper()
	c, java := dial(ctx, t)
	if _, err := java.Write(mapTaskMessages().p); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Accept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(java, make([]byte, 30)); err != nil { // the answer
		t.Fatal(err)
	}
	return c, java
}

func TestStarted(t *testing.T) {
	for _, name := range portVariables {
		t.Setenv(name, "")
	}
	if Started() {
		t.Error("Started is true without a port")
	}
	for _, name := range portVariables {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "1")
			if !Started() {
				t.Error("Started is false with a port")
			}
		})
	}
}

func TestDialFails(t *testing.T) {
	t.Run("no port", func(t *testing.T) {
		t.Setenv(portVariables[0], "none")
		if _, err := Dial(t.Context()); err == nil {
			t.Error("Dial has no error")
		}
	})
	// Dial connects before it reads the secret, so that Java learns that there is no child.
	hangsUp := func(t *testing.T, conns <-chan net.Conn) {
		if _, err := Dial(t.Context()); err == nil {
			t.Error("Dial has no error")
		}
		java := <-conns
		defer func() { _ = java.Close() }()
		_ = java.SetReadDeadline(time.Now().Add(5 * time.Second))
		if n, err := java.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("Java read %d bytes, %v; want EOF", n, err)
		}
	}
	t.Run("no secret", func(t *testing.T) {
		conns := listenAsJava(t, []byte("secret"))
		t.Setenv(secretVariables[0], t.TempDir()+"/none")
		hangsUp(t, conns)
	})
	t.Run("empty secret", func(t *testing.T) { hangsUp(t, listenAsJava(t, nil)) })
}

func TestAcceptEnds(t *testing.T) {
	t.Run("interrupted", func(t *testing.T) {
		c, _ := dial(t.Context(), t)
		ctx, cancel := context.WithCancelCause(t.Context())
		interrupt := errors.New("interrupt")
		time.AfterFunc(10*time.Millisecond, func() { cancel(interrupt) })
		if _, err := c.Accept(ctx); !errors.Is(err, interrupt) {
			t.Errorf("Accept returned %v", err)
		}
		waitEnd(t, c, interrupt)
	})
	t.Run("hang up", func(t *testing.T) {
		c, java := dial(t.Context(), t)
		_ = java.Close()
		if _, err := c.Accept(t.Context()); !errors.Is(err, ErrGone) {
			t.Errorf("Accept returned %v", err)
		}
		waitEnd(t, c, ErrGone)
	})
	t.Run("closed", func(t *testing.T) {
		c, _ := dial(t.Context(), t)
		time.AfterFunc(10*time.Millisecond, func() { _ = c.Close() })
		if _, err := c.Accept(t.Context()); !errors.Is(err, ErrClosed) {
			t.Errorf("Accept returned %v", err)
		}
	})
}

// sendCalls are the methods that send messages.
var sendCalls = map[string]func(*Conn) error{
	"Register": func(c *Conn) error { return c.Register(Counter{"g", "n"}) },
	"Progress": func(c *Conn) error { return c.Progress(0) },
	"Status":   func(c *Conn) error { return c.Status("x") },
	"Done":     (*Conn).Done,
}

func TestBeforeAccept(t *testing.T) {
	c, java := dial(t.Context(), t)
	for name, call := range sendCalls {
		if err := call(c); err == nil {
			t.Errorf("%s has no error", name)
		}
	}
	_ = c.Close()
	if sent, _ := io.ReadAll(java); len(sent) > 0 {
		t.Errorf("the child sent %x, want nothing", sent)
	}
}

func TestMessages(t *testing.T) {
	c, java := acceptTask(t.Context(), t)
	if c.Add(0, 1) == nil {
		t.Error("Add before Register has no error")
	}
	err := errors.Join(c.Register(Counter{"g", "a"}, Counter{"g", "b"}), c.Add(1, -300),
		c.Progress(float32(math.NaN())), c.Progress(-1), c.Progress(float32(math.Inf(1))), c.Status("a\xffb"))
	testenv.Must(t, err)
	if c.Add(-1, 1) == nil || c.Add(2, 1) == nil {
		t.Error("Add of an unknown counter has no error")
	}
	if c.Register(Counter{"g", "c"}) == nil {
		t.Error("a second Register has no error")
	}
	_ = c.Close()
	sent, _ := io.ReadAll(java)
	want := "\x37\x00\x01g\x01a" + "\x37\x01\x01g\x01b" + "\x38\x01\x86\x01\x2b" +
		"\x35\x00\x00\x00\x00" + "\x35\x00\x00\x00\x00" + "\x35\x3f\x80\x00\x00" + "\x34\x05a\xef\xbf\xbdb"
	if string(sent) != want {
		t.Errorf("the child sent\n%q, want\n%q", sent, want)
	}
}

func TestTruncate(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "abc": "abc", "abcd": "abc", "äöüß": "äöü",
		"a😀b": "a😀", "ab😀": "ab", "😀😀": "😀",
	} {
		if got := truncate(text, 3); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestDone(t *testing.T) {
	for name, test := range map[string]struct {
		java func(*net.TCPConn) // called after Java has read DONE
		want error
	}{
		"closed":  {func(java *net.TCPConn) { _ = java.Close() }, nil},
		"aborted": {func(java *net.TCPConn) { _, _ = java.Write([]byte{byte(abort)}) }, ErrAborted},
		"reset": {func(java *net.TCPConn) {
			_ = java.SetLinger(0)
			_ = java.Close()
		}, ErrGone},
		"hangs": {func(*net.TCPConn) {}, ErrGone},
	} {
		t.Run(name, func(t *testing.T) {
			c, java := acceptTask(t.Context(), t)
			c.patience = time.Second
			heard := make(chan []byte)
			go func() {
				p := make([]byte, 10)
				n, _ := java.Read(p)
				test.java(java)
				heard <- p[:n]
			}()
			if err := c.Done(); !errors.Is(err, test.want) {
				t.Errorf("Done returned %v, want %v", err, test.want)
			}
			if sent := <-heard; !bytes.Equal(sent, []byte{byte(done)}) {
				t.Errorf("the child sent %x, want DONE", sent)
			}
			waitEnd(t, c, cmp.Or(test.want, ErrClosed))
			for name, call := range sendCalls {
				if err := call(c); err == nil {
					t.Errorf("%s after Done has no error", name)
				}
			}
		})
	}
}

// TestSendsNothingAfterDone checks that Java can close the connection without a reset.
func TestSendsNothingAfterDone(t *testing.T) {
	c, java := acceptTask(t.Context(), t)
	finished := make(chan error)
	go func() { finished <- c.Done() }()
	if _, err := io.ReadFull(java, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	for name, call := range sendCalls {
		if err := call(c); !errors.Is(err, ErrClosed) {
			t.Errorf("%s after DONE returned %v, want %v", name, err, ErrClosed)
		}
	}
	_ = java.CloseWrite()
	if err := <-finished; err != nil {
		t.Error(err)
	}
	_ = c.Close()
	if sent, _ := io.ReadAll(java); len(sent) > 0 {
		t.Errorf("after DONE the child sent %x, want nothing", sent)
	}
}

func TestJavaEnds(t *testing.T) {
	for name, test := range map[string]struct {
		sent  []byte // data that Java sent
		cause error
		text  string
	}{
		"abort":         {sent: []byte{byte(abort)}, cause: ErrAborted},
		"hang up":       {cause: ErrGone},
		"end of input":  {sent: []byte{byte(closeInput)}, cause: ErrGone},
		"half a number": {sent: []byte{0x8f}, cause: ErrGone},
		"a record":      {sent: []byte{byte(mapItem)}, text: "unexpected MAP_ITEM during a map task"},
	} {
		t.Run(name, func(t *testing.T) {
			c, java := acceptTask(t.Context(), t)
			_, _ = java.Write(test.sent)
			if test.cause == ErrGone {
				_ = java.Close()
			}
			<-c.Context().Done()
			err := context.Cause(c.Context())
			if test.cause != nil && !errors.Is(err, test.cause) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("the connection ended with %v", err)
			}
			if got := c.Progress(1); got != err {
				t.Errorf("Progress then returned %v, want %v", got, err)
			}
		})
	}
}

// TestBlockedWrite checks that a blocked write returns when the connection ends.
func TestBlockedWrite(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*Conn, *net.TCPConn)
		want error
	}{
		"abort": {func(_ *Conn, java *net.TCPConn) { _, _ = java.Write([]byte{byte(abort)}) }, ErrAborted},
		"close": {func(c *Conn, _ *net.TCPConn) { _ = c.Close() }, ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			c, java := acceptTask(t.Context(), t)
			failed := make(chan error)
			go func() {
				for {
					if err := c.Status(strings.Repeat("ä", maxStatus)); err != nil {
						failed <- err
						return
					}
				}
			}()
			time.Sleep(100 * time.Millisecond)
			test.end(c, java)
			select {
			case err := <-failed:
				if !errors.Is(err, test.want) {
					t.Errorf("the write returned %v, want %v", err, test.want)
				}
			case <-time.After(30 * time.Second):
				t.Fatal("the write does not return")
			}
		})
	}
}

// TestParentEnds checks that an interrupted child can still send its status.
func TestParentEnds(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	c, java := acceptTask(ctx, t)
	interrupt := errors.New("interrupt")
	cancel(interrupt)
	waitEnd(t, c, interrupt)
	if err := c.Status("interrupted"); err != nil {
		t.Error(err)
	}
	_ = c.Close()
	if sent, _ := io.ReadAll(java); string(sent) != "\x34\x0binterrupted" {
		t.Errorf("the child sent %q", sent)
	}
}

func TestCloseTwice(t *testing.T) {
	c, _ := acceptTask(t.Context(), t)
	if err := errors.Join(c.Close(), c.Close()); err != nil {
		t.Error(err)
	}
	waitEnd(t, c, ErrClosed)
}
