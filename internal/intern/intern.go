// Package intern lets users of equal immutable values share one of them.
package intern

import (
	"runtime"
	"sync"
	"weak"
)

// Values has the values that are in use, by their keys, and the one that was used last: its next
// user may come when the one before has ended. It keeps no other value in memory. The zero Values
// is empty. Its methods may be called concurrently.
type Values[K comparable, V any] struct {
	mu    sync.Mutex
	byKey map[K]weak.Pointer[V]
	last  *V
}

// Get returns the value for a key. If there is none, it returns that of create, or its error. The
// value must be immutable, and the key must not refer to it.
func (s *Values[K, V]) Get(key K, create func() (*V, error)) (*V, error) {
	if v := s.find(key); v != nil {
		return v, nil
	}
	v, err := create()
	if err != nil {
		return nil, err
	}
	return s.add(key, v), nil
}

func (s *Values[K, V]) find(key K) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.byKey[key].Value()
	if v != nil {
		s.last = v
	}
	return v
}

// add adds a value, and returns it, or the one that another goroutine has added for the key.
func (s *Values[K, V]) add(key K, v *V) *V {
	s.mu.Lock()
	defer s.mu.Unlock()
	if first := s.byKey[key].Value(); first != nil {
		return first
	}
	s.last = v
	if s.byKey == nil {
		s.byKey = make(map[K]weak.Pointer[V])
	}
	s.byKey[key] = weak.Make(v)
	runtime.AddCleanup(v, s.forget, key)
	return v
}

// forget removes the entry of a key whose value is no longer in use.
func (s *Values[K, V]) forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey[key].Value() == nil {
		delete(s.byKey, key)
	}
}
