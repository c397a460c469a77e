package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestUnlock checks that unlock takes the lock from a holder that gives no sign of life for 15 s,
// and that the next run then resumes the holder's work without waiting for the lock.
func TestUnlock(t *testing.T) {
	t.Parallel() // unlock watches the holder for 15 s
	dir := t.TempDir()
	rowtocol(t, dir, nil, "unlock", "out", "--holder", "00112233445566aa").want(t, 3, "does not exist")
	holder := leaveKilledRun(t, dir, 3000)
	before := fileSums(t, dir)
	rowtocol(t, dir, nil, "unlock", "out").want(t, 1, "--holder")
	rowtocol(t, dir, nil, "unlock", "out", "--holder", "me").want(t, 1, "--holder")
	rowtocol(t, dir, nil, "unlock", "out", "--holder", strings.Repeat("f", 16)).want(t, 5, holder)
	wantUnchanged(t, dir, before)
	var u unlocked
	began := time.Now()
	rowtocol(t, dir, nil, "unlock", "--json", "out", "--holder", holder).want(t, 0).object(t, &u)
	if took := time.Since(began); took < 11*time.Second || took > time.Minute {
		t.Errorf("unlock took %v, want 11 s to 1 min", took)
	}
	if !u.Unlocked || u.Holder != holder || u.Host != "far" || u.PID != 7 || u.Dead || u.Seen.IsZero() {
		t.Errorf("the result of unlock is %+v, want the holder %s, process 7 on far, not dead", u, holder)
	}
	rowtocol(t, dir, nil, "unlock", "out", "--holder", holder).want(t, 0, "is not locked")
	began = time.Now()
	rowtocol(t, dir, nil, append([]string{"convert", "in", "out"}, smallTasks...)...).want(t, 0, "2 tasks were done before")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("the next run took %v", took)
	}
}

// TestUnlockLivingAndDead checks that unlock fails if the holder gives signs of life, and takes
// the lock at once from a holder whose process has ended.
func TestUnlockLivingAndDead(t *testing.T) {
	dir := t.TempDir()
	makeOutput(t, dir, "out", 0)
	release := holdLock(t, dir+"/out")
	rowtocol(t, dir, nil, "unlock", "out", "--holder", statusIn(t, dir, "out").Lock.Holder).want(t, 5, "sign of life")
	release()

	// The lock of a released holder is written again with the ID of a process that has ended.
	release = holdLock(t, dir+"/out")
	var lock struct {
		Holder string `json:"holder"`
		PID    int    `json:"pid"`
	}
	text := read(t, dir+"/out/_lock")
	release()
	ended := exec.CommandContext(t.Context(), "true")
	must(t, errors.Join(json.Unmarshal(text, &lock), ended.Run()))
	write(t, dir+"/out/_lock", []byte(strings.Replace(string(text), fmt.Sprint(`"pid":`, lock.PID), fmt.Sprint(`"pid":`, ended.Process.Pid), 1)))
	write(t, dir+"/out/.rowtocol/"+lock.Holder+"/alive-1", nil) // without its directory, any holder is dead
	if l := statusIn(t, dir, "out").Lock; l == nil || !l.Dead {
		t.Fatalf("the lock is %+v, want a dead holder", l)
	}
	rowtocol(t, dir, nil, "status", "out").want(t, 0, "it is dead")
	began := time.Now()
	rowtocol(t, dir, nil, "unlock", "out", "--holder", lock.Holder).want(t, 0, "which is dead", "took the lock away")
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("unlock took %v, want 10 s at most", took)
	}
	wantAbsent(t, dir+"/out/_lock")
}
