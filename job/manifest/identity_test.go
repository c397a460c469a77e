package manifest

import (
	"testing"
	"time"
)

// TestRelate checks how an input is related to a known input on each kind of storage.
func TestRelate(t *testing.T) {
	sum := func(crc uint32) *uint32 { return &crc }
	at := time.Unix(1e9, 0).UTC()
	local := Input{Path: "/in/a", Size: 9, HeaderSize: 3, Identity: 5, FileID: 7, ModTime: at, CRC32C: sum(1)}
	rpc := local
	rpc.Path = "hdfs://nn:8020/in/a"
	recent, old := local, local
	recent.Recent = true
	old.ModTime, old.CRC32C = time.Time{}, nil
	for name, tc := range map[string]struct {
		known  Input
		change func(*Input)
		want   Relation
	}{
		"not opened":               {local, func(in *Input) { in.HeaderSize, in.Identity, in.CRC32C = 0, 0, nil }, SameFile},
		"not opened, longer":       {local, func(in *Input) { in.HeaderSize, in.Identity, in.Size = 0, 0, 10 }, Changed},
		"not opened, touched":      {local, func(in *Input) { in.HeaderSize, in.CRC32C, in.ModTime = 0, nil, at.Add(1) }, Unopened},
		"not opened, same sum":     {local, func(in *Input) { in.HeaderSize, in.ModTime = 0, at.Add(1) }, SameFile},
		"not opened, other sum":    {local, func(in *Input) { in.HeaderSize, in.ModTime, in.CRC32C = 0, at.Add(1), sum(2) }, Changed},
		"touched":                  {local, func(in *Input) { in.ModTime = at.Add(1) }, SameFile},
		"touched, not read":        {local, func(in *Input) { in.ModTime, in.CRC32C = at.Add(1), nil }, Unread},
		"rewritten":                {local, func(in *Input) { in.ModTime, in.CRC32C = at.Add(1), sum(2) }, Changed},
		"other end":                {local, func(in *Input) { in.Identity = 6 }, Changed},
		"other header":             {local, func(in *Input) { in.HeaderSize = 4 }, Changed},
		"no time":                  {local, func(in *Input) { in.ModTime, in.CRC32C = time.Time{}, nil }, Unread},
		"known without time":       {old, func(in *Input) { in.CRC32C = nil }, Unread},
		"known when recent":        {recent, func(in *Input) { in.CRC32C = nil }, Unread},
		"now recent":               {local, func(in *Input) { in.Recent, in.CRC32C = true, nil }, Unread},
		"other id":                 {local, func(in *Input) { in.FileID, in.CRC32C = 8, nil }, SameFile},
		"other id, not opened":     {local, func(in *Input) { in.FileID, in.HeaderSize, in.CRC32C = 8, 0, nil }, Unopened},
		"other name":               {local, func(in *Input) { in.Path, in.CRC32C = "/in/b", nil }, SameFile},
		"other name of a link":     {local, func(in *Input) { in.Path, in.Real, in.CRC32C = "/in/b", "/in/a", nil }, SameFile},
		"other name, touched":      {local, func(in *Input) { in.Path, in.ModTime = "/in/b", at.Add(1) }, SameFile},
		"other name, other bytes":  {local, func(in *Input) { in.Path, in.ModTime, in.CRC32C = "/in/b", at.Add(1), sum(2) }, Unrelated},
		"other name, no id":        {local, func(in *Input) { in.Path, in.FileID = "/in/b", 0 }, SameContent},
		"copy":                     {local, func(in *Input) { in.Path, in.FileID = "/in/b", 8 }, SameContent},
		"copy, not read":           {local, func(in *Input) { in.Path, in.FileID, in.CRC32C = "/in/b", 8, nil }, Unread},
		"only the ends of a copy":  {local, func(in *Input) { in.Path, in.FileID, in.CRC32C = "/in/b", 8, sum(2) }, Unrelated},
		"another file":             {local, func(in *Input) { in.Path, in.Size = "/in/b", 10 }, Unrelated},
		"another file, not opened": {local, func(in *Input) { in.Path, in.FileID, in.Identity = "/in/b", 8, 6 }, Unrelated},
		"another empty file":       {Input{Path: "/in/a", FileID: 7}, func(in *Input) { in.Path = "/in/b" }, Unrelated},
		"the same empty file":      {Input{Path: "/in/a"}, func(in *Input) { in.ModTime = at }, SameFile},
		"other client":             {rpc, func(in *Input) { in.Path, in.HeaderSize, in.CRC32C = "webhdfs://nn:9870/in/a", 0, nil }, SameFile},
		"other host name":          {rpc, func(in *Input) { in.Path, in.HeaderSize, in.CRC32C = "hdfs://localhost/in/a", 0, nil }, SameFile},
		"other client without ids": {rpc, func(in *Input) { in.Path, in.FileID, in.CRC32C = "webhdfs://nn:14000/in/a", 0, nil }, SameFile},
		"without ids, not opened":  {rpc, func(in *Input) { in.Path, in.FileID, in.HeaderSize = "webhdfs://nn:14000/in/a", 0, 0 }, Unopened},
		"other cluster":            {rpc, func(in *Input) { in.Path, in.FileID = "hdfs://other/in/a", 8 }, SameContent},
		"on disk and on a cluster": {rpc, func(in *Input) { in.Path = "/in/b" }, SameContent},
	} {
		in := tc.known
		tc.change(&in)
		if got := in.Relate(&tc.known); got != tc.want {
			t.Errorf("%s: %d, want %d", name, got, tc.want)
		}
	}
}

// TestSetModified checks which modification times a later change may repeat.
func TestSetModified(t *testing.T) {
	now := time.Now()
	for age, recent := range map[time.Duration]bool{time.Hour: false, 3 * time.Second: false, time.Second: true, 0: true, -time.Second: true, -time.Hour: false} {
		var in Input
		if in.SetModified(now.Add(-age), now); in.Recent != recent || in.ModTime.IsZero() {
			t.Errorf("modified %v ago: %+v", age, in)
		}
	}
	for year, known := range map[int]bool{2026: true, 9999: true, 10000: false, 0: false, -1: false} {
		var in Input
		in.SetModified(time.Date(year, 6, 1, 0, 0, 0, 1, time.UTC), now)
		if _, err := in.ModTime.MarshalJSON(); err != nil || in.ModTime.IsZero() == known {
			t.Errorf("year %d: %v (%v)", year, in.ModTime, err)
		}
	}
}

// TestKnownOwners checks that inputs of other owners are found, and the first of several
// inputs.
func TestKnownOwners(t *testing.T) {
	at := time.Unix(1e9, 0).UTC()
	k := NewKnown(Input{Path: "/a", Size: 1, HeaderSize: 1})
	k.Add("x", Input{Path: "/a", Size: 2, HeaderSize: 1, FileID: 3, ModTime: at})
	k.Add("y", Input{Path: "/b", Size: 2, HeaderSize: 1, FileID: 3, ModTime: at})
	in := &Input{Path: "/a", Size: 2, HeaderSize: 1, FileID: 3, ModTime: at}
	if m := k.Named(in); m == nil || m.Owner != "" || m.Size != 1 || k.Len() != 3 {
		t.Errorf("%+v", m)
	}
	if m := k.Find(in, "", false); m.Owner != "x" || m.Relation != SameFile {
		t.Errorf("%+v", m)
	}
	if m := k.Find(in, "x", false); m.Owner != "" || m.Relation != Changed {
		t.Errorf("%+v", m)
	}
	for header, want := range map[int64]Relation{0: Unopened, 1: Unrelated} {
		if m := k.Find(&Input{Path: "/c", Size: 3, HeaderSize: header}, "", true); m.Relation != want {
			t.Errorf("header of %d bytes: %+v", header, m)
		}
	}
}

func TestMoveInputs(t *testing.T) {
	r := &Request{Inputs: []Input{{Path: "hdfs://old/in/dt=1/a", FileID: 1}, {Path: "/data/a", Real: "/disk1/a", FileID: 2}, {Path: "/database/a", FileID: 3}}}
	r.MoveInputs([]Move{{"hdfs://old/", "hdfs://new:8020"}, {"/data", "/mnt"}, {"/mnt/", "/mnt/data/"}})
	want := []Input{{Path: "hdfs://new:8020/in/dt=1/a"}, {Path: "/mnt/data/a", Real: "/disk1/a"}, {Path: "/database/a", FileID: 3}}
	for i, in := range r.Inputs {
		if in.was = nil; in != want[i] {
			t.Errorf("%+v, want %+v", in, want[i])
		}
	}
	for _, name := range []string{"/old/a", "/new/a", "/other/a"} {
		r := &Request{Inputs: []Input{{Path: "/old/a", Size: 9, HeaderSize: 3, FileID: 7, ModTime: time.Unix(1e9, 0), CRC32C: new(uint32)}}}
		in := r.Inputs[0]
		in.Path, in.FileID = name, 0
		r.MoveInputs([]Move{{"/old", "/new"}})
		if got, want := in.Relate(&r.Inputs[0]) == SameFile, name != "/other/a"; got != want {
			t.Errorf("%s is the same file: %v", name, got)
		}
	}
}
