package main

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRead(t *testing.T) {
	const recording = `{"Action":"start","Package":"example.org/m/a"}
{"Action":"run","Package":"example.org/m/a","Test":"TestOne"}
{"Action":"output","Package":"example.org/m/a","Test":"TestOne","Output":"    a_test.go:3: set-up: cluster of 3: 6.5s\n"}
{"Action":"pass","Package":"example.org/m/a","Test":"TestOne/part","Elapsed":0.5}
{"Action":"pass","Package":"example.org/m/a","Test":"TestOne","Elapsed":8.25}
{"Action":"skip","Package":"example.org/m/a","Test":"TestTwo","Elapsed":0}
{"Action":"fail","Package":"example.org/m/b","Test":"TestThree","Elapsed":2}
{"Action":"output","Package":"example.org/m/b","Output":"set-up: the program: 4s\n"}
{"Action":"fail","Package":"example.org/m/b","Elapsed":9}
`
	got, err := read(strings.NewReader(recording))
	want := []entry{
		{"a", "set-up: cluster of 3", 6500 * time.Millisecond}, {"a", "TestOne", 8250 * time.Millisecond},
		{"b", "TestThree", 2 * time.Second}, {"b", "set-up: the program", 4 * time.Second},
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
}

func TestReadRefuses(t *testing.T) {
	for _, recording := range []string{
		"ok  	example.org/m/a	1.2s\n",
		`{"Action":"output","Output":"set-up: cluster: long\n"}`,
	} {
		if got, err := read(strings.NewReader(recording)); err == nil {
			t.Errorf("%q: %v", recording, got)
		}
	}
}
