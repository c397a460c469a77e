package input

import (
	"context"
	"path"
	"slices"

	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Partitioned lists the content of a directory of partitions.
type Partitioned struct {
	// Names are the paths, below the directory, of the deepest directories named
	// key=value whose parents are also named so, sorted.
	Names []string
	// Failed has the errors of partitions that could not be read, by name.
	Failed map[string]error
	// Outside are Avro files and directories that are in no partition and would be left
	// out. It does not include hidden directories.
	Outside []Skipped
}

// Partitions finds the partitions below the one directory that a search names. If symbolic
// links give a directory several names, it is a partition under only one of them.
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
	f := partitionFinder{s: &s, in: in, seen: make(map[string]bool), found: &Partitioned{Failed: make(map[string]error)}}
	w := manifest.Walker{Store: in.Store,
		Enter: func(b manifest.Branch, infos []store.Info, err error) ([]store.Info, error) {
			return f.enter(ctx, b, infos, err)
		},
		Other: func(b manifest.Branch, info store.Info, twice bool) error { return f.other(ctx, b, info, twice) }}
	err = w.Walk(ctx, manifest.Branch{Path: in.Path})
	for len(f.links) > 0 && err == nil {
		link := f.links[0]
		f.links, link.Link = f.links[1:], false
		err = w.Walk(ctx, link)
	}
	if err != nil {
		return nil, fault(arg, err)
	}
	slices.Sort(f.found.Names)
	return f.found, nil
}

// partitionFinder finds partitions for Partitions.
type partitionFinder struct {
	s     *Search
	in    store.Location
	seen  map[string]bool
	links []manifest.Branch // links to directories, visited last because their targets may have another name
	found *Partitioned
}

func (f *partitionFinder) enter(ctx context.Context, b manifest.Branch, infos []store.Info, err error) ([]store.Info, error) {
	if b.Link {
		f.links = append(f.links, b)
		return nil, nil
	}
	real := store.RealPath(f.in.Store, b.Path)
	//guard: skips the further names of a directory
	if f.seen[real] {
		return nil, nil
	}
	f.seen[real] = true
	if err != nil && b.Below == "" {
		return nil, err
	}
	if err != nil {
		return nil, f.fail(ctx, b.Below, fault(f.in.Origin+b.Path, err))
	}
	if b.Below != "" && !slices.ContainsFunc(infos, manifest.HasKey) {
		f.found.Names = append(f.found.Names, b.Below)
		return nil, nil
	}
	return infos, nil
}

// other handles an entry of a directory of partitions that is not a partition.
func (f *partitionFinder) other(ctx context.Context, b manifest.Branch, info store.Info, twice bool) error {
	if !info.Dir {
		return f.file(ctx, b, info)
	}
	reason := "it is no directory named key=value, as the others are"
	//guard: gives the reason for a path with the same key twice
	if twice {
		reason = "its key is twice in the path"
	}
	//guard: reports each file that is skipped
	f.add(info, reason)
	return nil
}

// fail records that a directory, or a file in place of one, cannot be read.
func (f *partitionFinder) fail(ctx context.Context, below string, err error) error {
	//guard: reports no partition as unreadable when the run is stopped
	if ctx.Err() != nil {
		return err
	}
	f.found.Names = append(f.found.Names, below)
	f.found.Failed[below] = err
	return nil
}

// file handles a file next to partitions.
func (f *partitionFinder) file(ctx context.Context, b manifest.Branch, info store.Info) error {
	name := f.in.Origin + info.Path
	if excluded := Excluded(f.s.Filter.Exclude, name); excluded != "" {
		f.add(info, excluded)
		return nil
	}
	_, _, err := Describe(ctx, f.s.Resolve, name)
	if err == nil {
		//guard: reports each file that is skipped
		f.add(info, "it is an Avro file that is in no partition")
		return nil
	}
	if NotInput(err) != "" {
		return nil
	}
	return f.fail(ctx, path.Join(b.Below, info.Name), err)
}

func (f *partitionFinder) add(info store.Info, reason string) {
	f.found.Outside = append(f.found.Outside, Skipped{Path: f.in.Origin + info.Path, Reason: reason})
}
