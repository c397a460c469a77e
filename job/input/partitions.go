package input

import (
	"context"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Partitioned is what a directory of partitions holds.
type Partitioned struct {
	// Names are the paths, below the directory, of the deepest directories named
	// key=value whose parents are named so, sorted.
	Names []string
	// Failed has why some of them could not be looked into.
	Failed map[string]error
	// Beside are Avro files, and directories that are not hidden, which are in no
	// partition and would be left out.
	Beside []Skipped
}

// Partitions finds the partitions below the one directory that a search names. A
// directory that several names lead to by symbolic links is taken under one of them.
func Partitions(ctx context.Context, s Search) (*Partitioned, error) {
	if err := s.Filter.check(); err != nil {
		return nil, err
	}
	arg := s.Inputs[0]
	in, err := Locate(s.Resolve, arg)
	if err != nil {
		return nil, err
	}
	info, err := in.Store.Stat(ctx, in.Path)
	if err != nil {
		return nil, fault(arg, err)
	}
	if !info.Dir {
		return nil, failure.New(failure.Input, "%s is a file, and no directory of partitions", arg)
	}
	if err := disjoint(in, info, s.Dest); err != nil {
		return nil, err
	}
	w := partitionWalker{s: &s, in: in, seen: make(map[string]bool), found: &Partitioned{Failed: make(map[string]error)}}
	err = w.walk(ctx, partition{real: store.RealPath(in.Store, in.Path)})
	for len(w.links) > 0 && err == nil {
		link := w.links[0]
		w.links = w.links[1:]
		err = w.walk(ctx, link)
	}
	if err != nil {
		return nil, fault(arg, err)
	}
	slices.Sort(w.found.Names)
	return w.found, nil
}

// partition is a directory on the way to a partition, or one.
type partition struct {
	below string // its path below the one that was named
	real  string // the path that it leads to
	keys  []string
}

// partitionWalker finds partitions.
type partitionWalker struct {
	s     *Search
	in    store.Location
	seen  map[string]bool
	links []partition // which come last: what they lead to may have another name
	found *Partitioned
}

func (w *partitionWalker) walk(ctx context.Context, d partition) error {
	//guard: rows would be there once for each name of a partition, and links upwards lead down for ever
	if w.seen[d.real] {
		return nil
	}
	w.seen[d.real] = true
	infos, err := w.in.Store.List(ctx, path.Join(w.in.Path, d.below))
	if err != nil && d.below == "" {
		return err
	}
	if err != nil {
		return w.fail(ctx, d.below, fault(w.in.Origin+path.Join(w.in.Path, d.below), err))
	}
	infos = slices.DeleteFunc(infos, func(i store.Info) bool { return store.Hidden(i.Name) })
	if d.below != "" && !slices.ContainsFunc(infos, isKey) {
		w.found.Names = append(w.found.Names, d.below)
		return nil
	}
	for _, info := range infos {
		k, _, ok := manifest.ParseKey(info.Name)
		switch {
		case !info.Dir:
			err = w.file(ctx, d, info)
		//guard: rows would be left out without a word
		case !ok:
			w.add(info, "it is no directory named key=value, as those beside it are")
		//guard: readers would refuse the partition
		case slices.Contains(d.keys, k):
			w.add(info, "its key is twice in the path")
		case info.Link:
			w.links = append(w.links, w.under(d, info, k))
		default:
			err = w.walk(ctx, w.under(d, info, k))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// under is a directory in another.
func (w *partitionWalker) under(d partition, info store.Info, k string) partition {
	below := partition{below: path.Join(d.below, info.Name), real: path.Join(d.real, info.Name), keys: append(slices.Clip(d.keys), k)}
	if info.Link {
		below.real = store.RealPath(w.in.Store, info.Path)
	}
	return below
}

// fail notes that a directory, or a file where one may be, cannot be looked into.
func (w *partitionWalker) fail(ctx context.Context, below string, err error) error {
	//guard: takes what was not looked at for unreadable, because the run was ended
	if ctx.Err() != nil {
		return err
	}
	w.found.Names = append(w.found.Names, below)
	w.found.Failed[below] = err
	return nil
}

// file looks at a file beside partitions.
func (w *partitionWalker) file(ctx context.Context, d partition, info store.Info) error {
	name := w.in.Origin + info.Path
	_, _, err := Describe(ctx, w.s.Resolve, name)
	if err == nil {
		//guard: rows would be left out without a word
		w.add(info, "it is an Avro file that is in no partition")
		return nil
	}
	if NotInput(err) != "" {
		return nil
	}
	return w.fail(ctx, path.Join(d.below, info.Name), err)
}

func (w *partitionWalker) add(info store.Info, reason string) {
	w.found.Beside = append(w.found.Beside, Skipped{Path: w.in.Origin + info.Path, Reason: reason})
}

// isKey reports whether a directory is named key=value.
func isKey(i store.Info) bool {
	_, _, ok := manifest.ParseKey(i.Name)
	return i.Dir && ok
}
