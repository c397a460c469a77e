package intern

import (
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"
)

// value is a value that is not allocated together with others.
type value struct{ text *string }

// Calls with one key return one value while it is in use. Later, nothing is kept but the last value.
func TestValues(t *testing.T) {
	var s Values[string, value]
	create := func(text string) func() (*value, error) {
		return func() (*value, error) { return &value{&text}, nil }
	}
	var wg sync.WaitGroup
	all := make([]*value, 8)
	for i := range all {
		key := string(rune('a' + i%2))
		wg.Go(func() { all[i], _ = s.Get(key, create(key)) })
	}
	wg.Wait()
	for i, v := range all {
		if v == nil || v != all[i%2] || *v.text != string(rune('a'+i%2)) {
			t.Errorf("value %d is not shared", i)
		}
	}
	runtime.GC()
	never := func() (*value, error) { return nil, errors.New("there is a value") }
	if v, err := s.Get("a", never); v != all[0] {
		t.Error(err)
	}
	if v, err := s.Get("c", never); v != nil || err == nil || s.find("c") != nil {
		t.Errorf("an error makes a value: %v", v)
	}
	runtime.KeepAlive(all)
	clear(all)
	for end := time.Now().Add(10 * time.Second); s.len() > 1; runtime.GC() {
		if time.Now().After(end) {
			t.Fatal("an entry remains of a value that is not in use")
		}
	}
	if v, err := s.Get("a", never); err != nil || *v.text != "a" {
		t.Errorf("the last value is not kept: %v", err)
	}
	if v, err := s.Get("b", create("new")); err != nil || *v.text != "new" {
		t.Errorf("%v, %v", v, err)
	}
}

func (s *Values[K, V]) len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byKey)
}
