package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/internal/testenv"
)

// browser is a Chromium with one page. It is controlled by the DevTools protocol: JSON messages
// that end with a zero byte, over a pipe in each direction.
type browser struct {
	t       *testing.T
	send    *os.File
	receive *bufio.Reader
	stderr  *bytes.Buffer
	session string
	last    int
	events  []message // not yet waited for
	faults  []string  // errors on the console, and requests other than for the page
	page    string    // its URL
}

// message is a command, its reply, or an event.
type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// browserLimit bounds the life of a browser, so that the tests do not hang with it.
const browserLimit = 2 * time.Minute

// startBrowser starts Chromium, which ends with the test.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program, err := exec.LookPath("chromium")
	if err != nil {
		testenv.Skip(t, "there is no chromium")
	}
	commands, send, err := os.Pipe()
	must(t, err)
	replies, receive, err := os.Pipe()
	must(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), browserLimit) // not the test's context: Cleanup ends the browser
	cmd := exec.CommandContext(ctx, program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir="+t.TempDir(), "--remote-debugging-pipe")
	b := &browser{t: t, send: send, receive: bufio.NewReaderSize(replies, 1<<20), stderr: &bytes.Buffer{}}
	cmd.Stderr = b.stderr
	cmd.ExtraFiles = []*os.File{commands, receive} // its descriptors 3 and 4
	must(t, cmd.Start())
	_, _ = commands.Close(), receive.Close() // the child has them
	t.Cleanup(func() {
		defer cancel()
		_, _ = send.WriteString(`{"id":0,"method":"Browser.close"}` + "\x00")
		_ = cmd.Wait() // its exit code does not matter
		_, _ = send.Close(), replies.Close()
	})
	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call runs a command and decodes its result, unless that is nil.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.last++
	command := map[string]any{"id": b.last, "method": method, "params": params}
	if params == nil {
		command["params"] = struct{}{}
	}
	if b.session != "" {
		command["sessionId"] = b.session
	}
	text, err := json.Marshal(command)
	must(b.t, err)
	if _, err := b.send.Write(append(text, 0)); err != nil {
		b.t.Fatalf("%s: %v\n%s", method, err, b.stderr)
	}
	for {
		m := b.next()
		if m.ID != b.last {
			b.events = append(b.events, m)
			continue
		}
		if m.Error != nil {
			b.t.Fatalf("%s: %s", method, m.Error)
		}
		if result == nil {
			return
		}
		if err := json.Unmarshal(m.Result, result); err != nil {
			b.t.Fatalf("%s: %v in %s", method, err, m.Result)
		}
		return
	}
}

// next reads a message, and records those that a quiet page does not cause.
func (b *browser) next() message {
	b.t.Helper()
	text, err := b.receive.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser ended: %v\n%s", err, b.stderr)
	}
	var m message
	must(b.t, json.Unmarshal(text[:len(text)-1], &m))
	switch m.Method {
	case "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded":
		b.faults = append(b.faults, string(m.Params))
	case "Network.requestWillBeSent":
		var p struct{ Request struct{ URL string } }
		if err := json.Unmarshal(m.Params, &p); err != nil || p.Request.URL != b.page {
			b.faults = append(b.faults, string(m.Params))
		}
	}
	return m
}

// open loads a file and waits until its scripts have run.
func (b *browser) open(file string) {
	b.t.Helper()
	b.page = (&url.URL{Scheme: "file", Path: file}).String()
	b.events = nil
	b.call("Page.navigate", map[string]any{"url": b.page}, nil)
	for {
		for _, m := range b.events {
			if m.Method == "Page.loadEventFired" {
				return
			}
		}
		b.events = append(b.events[:0], b.next())
	}
}

// eval evaluates an expression and decodes its value.
func (b *browser) eval(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if err := json.Unmarshal(r.Result.Value, value); err != nil {
		b.t.Fatalf("%s: %v in %s", expression, err, r.Result.Value)
	}
}

// click clicks the middle of an element, given by an expression.
func (b *browser) click(element string) {
	b.t.Helper()
	var at struct{ X, Y float64 }
	b.eval(fmt.Sprintf(`(() => { const e = %s; e.scrollIntoView({block: "center"}); const r = e.getBoundingClientRect(); return {x: r.x + r.width / 2, y: r.y + r.height / 2}; })()`, element), &at)
	for _, kind := range []string{"mousePressed", "mouseReleased"} {
		b.call("Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": "left", "clickCount": 1}, nil)
	}
}

// enter types text at the focus; "\r" alone is the Enter key.
func (b *browser) enter(text string) {
	b.t.Helper()
	if text != "\r" {
		b.call("Input.insertText", map[string]any{"text": text}, nil)
		return
	}
	for _, kind := range []string{"keyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": "Enter", "code": "Enter", "windowsVirtualKeyCode": 13, "text": text}, nil)
	}
}

// wantQuiet fails the test if the page wrote to the console, threw, violated its policy,
// or requested anything but itself.
func (b *browser) wantQuiet() {
	b.t.Helper()
	if len(b.faults) > 0 {
		b.t.Errorf("the page is not quiet:\n%s", strings.Join(b.faults, "\n"))
	}
	b.faults = nil
}
