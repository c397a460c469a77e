package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rowtocol/rowtocol/store/cluster"
)

// hadoopConf makes a directory with a Hadoop configuration, and returns the environment
// variable that names it.
func hadoopConf(t *testing.T, dir string, properties map[string]string) string {
	t.Helper()
	text := "<configuration>"
	for name, value := range properties {
		text += "<property><name>" + name + "</name><value>" + value + "</value></property>"
	}
	must(t, os.WriteFile(filepath.Join(dir, "core-site.xml"), []byte(text+"</configuration>"), 0o600))
	return "HADOOP_CONF_DIR=" + dir
}

// writeToken writes a file with one delegation token, as a scheduler does.
func writeToken(t *testing.T, dir, service string) (token, file string) {
	t.Helper()
	k := cluster.Token{Kind: "WEBHDFS delegation", Service: service, Identifier: []byte("\x00\x05alice\x04yarn\x00 of today"), Password: []byte("pass~word>of?20bytes")}
	data := "HDTS\x00\x01"
	for _, part := range []string{service, string(k.Identifier), string(k.Password), k.Kind, service} {
		data += string(rune(len(part))) + part
	}
	file = filepath.Join(dir, "token")
	must(t, os.WriteFile(file, []byte(data+"\x00"), 0o600))
	must(t, os.Chmod(file, 0o644))
	return k.URLString(), file
}

// TestServerEchoesToken has a server that repeats a token in many ways. hdfs:// locations are
// also reached with the token.
func TestServerEchoesToken(t *testing.T) {
	var answer func(w http.ResponseWriter, token string)
	seen, op := "", ""
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen, op = r.URL.Query().Get("delegation"), r.URL.Query().Get("op")
		answer(w, seen)
	}))
	defer server.Close()
	address := strings.TrimPrefix(server.URL, "http://")
	dir := t.TempDir()
	token, file := writeToken(t, dir, address)
	env := []string{hadoopConf(t, dir, map[string]string{"hadoop.security.authentication": "kerberos"}), "HADOOP_TOKEN_FILE_LOCATION=" + file}
	fails := func(w http.ResponseWriter, message string) {
		w.WriteHeader(http.StatusForbidden)
		text, _ := json.Marshal(message)
		_, _ = fmt.Fprintf(w, `{"RemoteException":{"exception":"IOException","javaClassName":"java.io.IOException","message":%s}}`, text)
	}
	for name, echo := range map[string]func(w http.ResponseWriter, token string){
		"in an error":    func(w http.ResponseWriter, token string) { fails(w, "refused "+token) },
		"as a parameter": func(w http.ResponseWriter, token string) { fails(w, "GET /x?delegation="+token+"&op=OPEN") },
		"in upper case":  func(w http.ResponseWriter, token string) { fails(w, strings.ToUpper(token)) },
		"escaped":        func(w http.ResponseWriter, token string) { fails(w, url.QueryEscape("delegation="+token)) },
		"cut":            func(w http.ResponseWriter, token string) { fails(w, strings.Repeat("x ", 480)+token) },
		"in a redirect": func(w http.ResponseWriter, token string) {
			switch op {
			case "OPEN":
				w.Header().Set("Location", "http://"+token+":1/x")
				w.WriteHeader(http.StatusTemporaryRedirect)
			case "GETFILESTATUS":
				_, _ = io.WriteString(w, `{"FileStatus":{"type":"FILE","length":1000}}`)
			default:
				w.WriteHeader(http.StatusBadRequest)
				_, _ = io.WriteString(w, `{"RemoteException":{"exception":"IllegalArgumentException","message":"no such operation"}}`)
			}
		},
		"in a broken head": func(w http.ResponseWriter, token string) { sendRaw(w, "HTTP/1.1 "+token+"\r\n\r\n") },
		"in a status": func(w http.ResponseWriter, token string) {
			sendRaw(w, "HTTP/1.1 500 "+token+"\r\nX: "+token+"\r\nContent-Length: 0\r\n\r\n")
		},
		"as a file": func(w http.ResponseWriter, token string) {
			_, _ = fmt.Fprintf(w, `{"FileStatus":{"type":"DIRECTORY"},"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":%q}]},`+
				`"DirectoryListing":{"partialListing":{"FileStatuses":{"FileStatus":[{"type":"FILE","pathSuffix":%[1]q}]}},"remainingEntries":0}}`, token)
		},
	} {
		answer, seen = echo, ""
		out := rowtocol(t, dir, env, "convert", "--json", "--store-retry", "300ms", "webhdfs://"+address+"/in", filepath.Join(dir, "out"))
		if out.code != 4 || seen != token {
			t.Errorf("%s: exit %d\n%s", name, out.code, out.stderr)
		}
		all := strings.ToLower(out.stdout + out.stderr)
		for i := 0; i+16 <= len(token); i++ {
			if part := strings.ToLower(token[i : i+16]); strings.Contains(all, part) {
				t.Errorf("%s: the part %s of the token is shown\n%s", name, part, out.stdout+out.stderr)
				break
			}
		}
		if n := strings.Count(out.stderr, "users other than its owner can read a file of secrets"); n != 1 || !strings.Contains(out.stderr, "0644") {
			t.Errorf("%s: the mode is reported %d times\n%s", name, n, out.stderr)
		}
	}
	must(t, os.Chmod(file, 0o600))
	rowtocol(t, dir, env, "count", "--store-retry", "0", "webhdfs://"+address+"/in").want(t, 4).lacks(t, "users other than its owner")
	answer, seen = func(w http.ResponseWriter, _ string) { fails(w, "refused") }, ""
	env[0] = hadoopConf(t, dir, map[string]string{"hadoop.security.authentication": "kerberos", "dfs.nameservices": "data", "dfs.namenode.rpc-address.data": "nn:8020", "dfs.namenode.http-address.data": address})
	rowtocol(t, dir, env, "task", "--store-retry", "0", "--plan", "hdfs://data/plan", "--task", "0").want(t, 4, "refused")
	if seen != token {
		t.Errorf("the request for an hdfs:// location has the token %q", seen)
	}
	must(t, os.Truncate(file, 20))
	rowtocol(t, dir, env, "count", "webhdfs://"+address+"/in").want(t, 7, "delegation tokens", file)
}

// sendRaw sends an answer that is not HTTP.
func sendRaw(w http.ResponseWriter, text string) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = io.WriteString(c, text)
	_ = c.Close()
}

// TestLocationWithPassword checks that locations with a password or token are refused without
// showing it.
func TestLocationWithPassword(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "in.avro", 0, 1)
	for i, location := range []string{"webhdfs://bob:hunter2@nn/x", "hdfs://bob:hunter2@nn:8020/x", "s3://bob:hunter2@b/x", "webhdfs://nn/x?op=OPEN&delegation=hunter2"} {
		for j, args := range [][]string{
			{"convert", location, "out"}, {"convert", "in.avro", location}, {"convert", "--partitioned", "in.avro", location}, {"plan", "in.avro", location, "--output", "p.json"},
			{"plan", "in.avro", "out", "--output", location}, {"task", "--task", "0", "--plan", location}, {"commit", "--plan", location},
			{"verify", location, "--against", location}, {"convert", "in.avro", "out", "--lineage", location}, {"convert", "in.avro", "out", "--metrics-file", location + ".prom"},
			{"status", "out", "--input", location}, {"convert", "--input", "in.avro", "--dest", location}, {"convert", "in.avro", "out", "--schema", location},
		} {
			if i > 0 && j > 1 {
				break // the other commands refuse it in the same function
			}
			if args[0] == "convert" || args[0] == "commit" {
				args = append([]string{args[0], "--metrics-file", "m.prom", "--lineage", "runs.jsonl"}, args[1:]...)
			}
			out := rowtocol(t, dir, nil, append(args, "--json", "--verbose")...)
			shown := out.stdout + out.stderr
			for _, file := range []string{"m.prom", "runs.jsonl"} {
				if text, err := os.ReadFile(filepath.Join(dir, file)); err == nil {
					shown += string(text)
				}
				_ = os.Remove(filepath.Join(dir, file))
			}
			if out.code != 1 && out.code != 3 || !strings.Contains(shown, "(hidden)") && args[0] != "status" || strings.Contains(shown, "hunter2") {
				t.Errorf("%v: exit %d:\n%s", args, out.code, shown)
			}
		}
	}
}

// TestServerDrips has name nodes that send only a byte now and then.
func TestServerDrips(t *testing.T) {
	t.Parallel() // it waits
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	var served sync.WaitGroup
	defer served.Wait()
	defer func() { _ = l.Close() }()
	asked := make(chan struct{}, 100) // an item for each connection with a request
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer func() { _ = c.Close() }()
				_, err := c.Read(make([]byte, 1)) // an answer before the request is refused
				if err == nil {
					asked <- struct{}{}
					_, err = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
				}
				for err == nil {
					time.Sleep(20 * time.Millisecond)
					_, err = io.WriteString(c, " ")
				}
			})
		}
	})
	dir := t.TempDir()
	env := []string{hadoopConf(t, dir, map[string]string{"dfs.client.socket-timeout": "200", "ipc.client.rpc-timeout.ms": "200"}), "HADOOP_USER_NAME=alice"}
	for scheme, text := range map[string]string{"webhdfs": "bytes in 200ms", "hdfs": "name node"} {
		began := time.Now()
		rowtocol(t, dir, env, "convert", "--store-retry", "0", scheme+"://"+l.Addr().String()+"/in", "out").want(t, 4, text)
		if took := time.Since(began); took > stopLimit {
			t.Errorf("%s: the run ended only after %v", scheme, took)
		}
	}
	// A signal ends a run that may wait for another minute.
	for _, scheme := range []string{"webhdfs", "hdfs"} {
		cmd := command(t, "convert", scheme+"://"+l.Addr().String()+"/in", filepath.Join(dir, "out"))
		var stderr bytes.Buffer
		cmd.Env, cmd.Stderr = append(cmd.Env, "HADOOP_USER_NAME=alice"), &stderr
		for len(asked) > 0 {
			<-asked // requests of the runs before
		}
		startCmd(t, dir, cmd)
		<-asked // the program and its signal handlers have started
		began := time.Now()
		must(t, cmd.Process.Signal(syscall.SIGTERM))
		o := waitCmd(t, cmd)
		o.want(t, 143)
		if took := time.Since(began); took > stopLimit || strings.Contains(o.stderr, givenUp) {
			t.Errorf("%s: the run ended only after %v: %s", scheme, took, o.stderr)
		}
	}
}

// TestUnknownHost checks that a host name that never resolved is refused at once.
func TestUnknownHost(t *testing.T) {
	dir := t.TempDir()
	writePairs(t, dir, "a.avro", 0, 10)
	for _, scheme := range []string{"hdfs", "webhdfs", "swebhdfs"} {
		began := time.Now()
		rowtocol(t, dir, nil, "count", scheme+"://no..such-host/out").want(t, 4, "no host has this name", "no..such-host")
		rowtocol(t, dir, nil, "convert", scheme+"://no..such-host/in", "out").want(t, 4, "no host has this name", "no..such-host")
		rowtocol(t, dir, nil, "convert", "a.avro", scheme+"://no..such-host/out").want(t, 4, "no host has this name", "no..such-host")
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s: refused only after %v", scheme, took)
		}
	}
}
