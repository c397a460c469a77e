package manifest

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Relation is how an input is related to a known input.
type Relation int

// The relations.
const (
	// Unrelated is another file with other bytes.
	Unrelated Relation = iota
	// SameFile is the known input, under the same name or another.
	SameFile
	// SameContent is another file with the same bytes.
	SameContent
	// Changed has the known input's name but other bytes.
	Changed
	// Unopened is undecided until the header and the end of the input are read.
	Unopened
	// Unread is undecided until the whole CRC-32C of both inputs is known.
	Unread
)

// timeGrain bounds the resolution of modification times. If a file was modified this shortly
// before it was examined, a later change may get the same time.
const timeGrain = 2 * time.Second

// SetModified sets ModTime. began is when the examination of the file started. SetModified sets
// Recent if the file was modified within timeGrain of that, because a later change may then have
// the same time.
func (in *Input) SetModified(modified, began time.Time) {
	//guard: drops a time that JSON cannot hold
	if y := modified.UTC().Year(); y < 1 || y > 9999 {
		modified = time.Time{}
	}
	in.ModTime = modified.UTC()
	in.Recent = modified.After(began.Add(-timeGrain)) && modified.Before(time.Now().Add(timeGrain))
}

// Location returns the path of an input with symbolic links resolved.
func (in *Input) Location() string {
	if in.Real != "" {
		return in.Real
	}
	return in.Path
}

// Opened reports whether the header and the end of an input were read. An empty
// file has neither.
func (in *Input) Opened() bool { return in.HeaderSize > 0 || in.Size == 0 }

// Settled reports whether two examinations of a file found the same size, time and ID, and cannot
// have missed a change in between. The bytes then need not be compared.
func (in *Input) Settled(other *Input) bool {
	return in.Size == other.Size && in.sameTime(other) && !in.otherID(other)
}

// sameTime reports whether both have the same known modification time.
func (in *Input) sameTime(other *Input) bool {
	return !in.ModTime.IsZero() && !in.Recent && !other.Recent && in.ModTime.Equal(other.ModTime)
}

func (in *Input) sameID(other *Input) bool { return in.FileID != 0 && in.FileID == other.FileID }

// otherID reports whether the storage says that the two are different files.
func (in *Input) otherID(other *Input) bool {
	return in.FileID != 0 && other.FileID != 0 && in.FileID != other.FileID
}

func (in *Input) sameEnds(other *Input) bool {
	return in.HeaderSize == other.HeaderSize && in.Identity == other.Identity
}

// sameName reports whether two inputs share a name.
func (in *Input) sameName(other *Input) bool {
	return in.Path == other.Path || in.Location() == other.Location()
}

// origin splits a location into its storage, which is empty for local disk, and its path.
func origin(location string) (storage, path string) {
	if strings.HasPrefix(location, "/") {
		return "", location
	}
	scheme, rest, ok := strings.Cut(location, "://")
	if !ok {
		return "", location
	}
	host, path, _ := strings.Cut(rest, "/")
	return scheme + "://" + host, "/" + path
}

// sameRemotePath reports whether two locations may be one file that is reached with
// another client or another name of the storage's host.
func (in *Input) sameRemotePath(other *Input) bool {
	a, path := origin(in.Location())
	b, same := origin(other.Location())
	return a != "" && b != "" && path == same
}

// sameStore reports whether the IDs of two files come from one kind of storage.
func (in *Input) sameStore(other *Input) bool {
	a, _ := origin(in.Location())
	b, _ := origin(other.Location())
	return (a == "") == (b == "")
}

// Relate decides how an input is related to a known input. It is the only place that decides this.
// After Unopened or Unread, the caller opens or reads the input and calls Relate again.
func (in *Input) Relate(known *Input) Relation {
	//guard: recognizes a file that stayed where it was although its tree moved
	if known.was != nil && in.relate(known.was) == SameFile {
		return SameFile
	}
	r := in.relate(known)
	//guard: converts a file that was lost as a whole, once it has other bytes
	if r == Changed && known.Unreadable != "" {
		return Unrelated
	}
	return r
}

// relate is Relate without the known input's earlier name.
func (in *Input) relate(known *Input) Relation {
	place, name := in.Location() == known.Location(), in.sameName(known)
	if in.Size != known.Size || in.Opened() && known.Opened() && !in.sameEnds(known) {
		return in.byName(known, Changed, Unrelated)
	}
	if place && in.Settled(known) {
		return SameFile
	}
	remote, id := in.sameRemotePath(known), in.sameID(known) && in.sameStore(known)
	switch {
	case (name || remote) && id && in.Settled(known):
		return SameFile
	case name && in.CRC32C != nil && known.CRC32C != nil: // an earlier survey read the input, so it is not opened
		return in.byContent(known, SameFile, Changed)
	case !in.Opened() && known.Opened():
		return Unopened
	case in.Size == 0:
		return in.byName(known, SameFile, Unrelated)
	case in.sameTime(known) && (place || id || remote && (in.FileID == 0 || known.FileID == 0)):
		return SameFile
	case name:
		return in.byContent(known, SameFile, Changed)
	case id:
		return in.byContent(known, SameFile, Unrelated)
	}
	return in.byContent(known, SameContent, Unrelated)
}

// byName returns same if the inputs share a name, and other if not.
func (in *Input) byName(known *Input, same, other Relation) Relation {
	if in.sameName(known) {
		return same
	}
	return other
}

// byContent returns same or other by the CRC-32C of all bytes, or Unread if one is unknown.
func (in *Input) byContent(known *Input, same, other Relation) Relation {
	switch {
	case in.CRC32C == nil || known.CRC32C == nil:
		return Unread
	case *in.CRC32C == *known.CRC32C:
		return same
	}
	return other
}

// Known is an index of known inputs. Only its lookups may be used concurrently.
type Known struct {
	inputs []Input
	owners []string
	names  map[string]int   // the first input with each name
	shared map[string][]int // all inputs with a name, if there are several

	mu      sync.Mutex
	indexed int              // number of inputs in the maps below, which few searches need
	remote  map[string][]int // indexes of inputs, by the path without the storage
	ids     map[uint64][]int
	ends    map[ends][]int
}

// ends is a key that inputs with the same bytes have in common.
type ends struct {
	size     int64
	identity uint32
}

// NewKnown returns an index of inputs without owners.
func NewKnown(inputs ...Input) *Known {
	k := &Known{names: make(map[string]int, len(inputs)), shared: make(map[string][]int), inputs: slices.Clip(inputs)}
	for i := range inputs {
		k.addNames(i)
	}
	return k
}

// Add adds an input of an owner.
func (k *Known) Add(owner string, in Input) {
	for len(k.owners) < len(k.inputs) {
		k.owners = append(k.owners, "")
	}
	k.inputs, k.owners = append(k.inputs, in), append(k.owners, owner)
	k.addNames(len(k.inputs) - 1)
}

func (k *Known) addNames(i int) {
	in := &k.inputs[i]
	k.name(in.Path, i)
	if in.Real != "" {
		k.name(in.Real, i)
	}
	if in.was != nil {
		k.name(in.was.Path, i)
		k.name(in.was.Location(), i)
	}
}

// owner returns the owner of an input.
func (k *Known) owner(i int) string {
	if i < len(k.owners) {
		return k.owners[i]
	}
	return ""
}

func (k *Known) name(name string, i int) {
	first, ok := k.names[name]
	switch {
	case !ok:
		k.names[name] = i
	case k.shared[name] == nil:
		k.shared[name] = []int{first, i}
	default:
		k.shared[name] = append(k.shared[name], i)
	}
}

// named returns the inputs with a name.
func (k *Known) named(name string) []int {
	if all := k.shared[name]; all != nil {
		return all
	}
	if first, ok := k.names[name]; ok {
		return []int{first}
	}
	return nil
}

// indexAll completes the maps that find inputs under other names.
func (k *Known) indexAll() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ids == nil {
		k.remote, k.ids, k.ends = make(map[string][]int), make(map[uint64][]int), make(map[ends][]int)
	}
	for ; k.indexed < len(k.inputs); k.indexed++ {
		i, in := k.indexed, &k.inputs[k.indexed]
		if storage, path := origin(in.Location()); storage != "" {
			k.remote[path] = append(k.remote[path], i)
		}
		if in.FileID != 0 {
			k.ids[in.FileID] = append(k.ids[in.FileID], i)
		}
		if in.was != nil && in.was.FileID != 0 {
			k.ids[in.was.FileID] = append(k.ids[in.was.FileID], i)
		}
		key := ends{in.Size, in.Identity}
		k.ends[key] = append(k.ends[key], i)
	}
}

// Len returns the number of known inputs.
func (k *Known) Len() int { return len(k.inputs) }

// Named returns the known input that shares a name with in, or nil.
func (k *Known) Named(in *Input) *Match {
	for _, name := range []string{in.Location(), in.Path} {
		if i, ok := k.names[name]; ok && in.sameName(&k.inputs[i]) {
			return &Match{Input: k.inputs[i], Owner: k.owner(i)}
		}
	}
	return nil
}

// CountSimilar returns how many known inputs have the same length, header and end as in. It
// returns 0 if in is empty.
func (k *Known) CountSimilar(in *Input) int {
	if in.Size == 0 {
		return 0
	}
	k.indexAll()
	return len(k.ends[ends{in.Size, in.Identity}])
}

// Match is the known input that another input is related to.
type Match struct {
	Input
	Owner    string
	Relation Relation
}

// Find returns the known input that is most closely related to in. It first looks for an input
// with the same name, then for the same file under another name, and last, if content is set, for
// a file with the same content. It leaves out inputs of the owner except, unless except is empty.
func (k *Known) Find(in *Input, except string, content bool) (m Match) {
	found := func(candidates []int) bool {
		m = k.best(in, candidates, except, SameFile, Unread, Unopened, Changed)
		return m.Relation != Unrelated
	}
	if found(k.named(in.Location())) || in.Real != "" && found(k.named(in.Path)) {
		return m
	}
	k.indexAll()
	_, path := origin(in.Location())
	if found(k.remote[path]) || found(k.ids[in.FileID]) {
		return m
	}
	switch {
	case !content:
		return m
	case !in.Opened():
		return Match{Relation: Unopened}
	}
	return k.best(in, k.ends[ends{in.Size, in.Identity}], except, SameContent, Unread)
}

// best returns the first candidate with the earliest of the relations.
func (k *Known) best(in *Input, candidates []int, except string, relations ...Relation) (best Match) {
	rank := len(relations)
	for _, i := range candidates {
		if except != "" && k.owner(i) == except {
			continue
		}
		r := in.Relate(&k.inputs[i])
		if at := slices.Index(relations, r); at >= 0 && at < rank {
			rank, best = at, Match{k.inputs[i], k.owner(i), r}
		}
		if rank == 0 {
			break
		}
	}
	return best
}

// Move says that a tree of files, or a cluster, moved from one location to another.
type Move struct{ From, To string }

// Moved returns a location after moves, which apply one after another.
func Moved(location string, moves []Move) string {
	for _, m := range moves {
		if rest, ok := cutTree(location, m.From); ok {
			location = strings.TrimSuffix(m.To, "/") + rest
		}
	}
	return location
}

// cutTree returns the rest of a location after a tree's path. ok is whether the location is the
// tree or is in it.
func cutTree(location, tree string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(location, strings.TrimSuffix(tree, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}

// InTree reports whether a location is the tree or is in it.
func InTree(location, tree string) bool {
	_, ok := cutTree(location, tree)
	return ok
}

// MoveInputs gives the inputs of an output the names that they have after moves. It drops the IDs
// of moved files, because the storage gives a file another ID in another place.
func (r *Request) MoveInputs(moves []Move) {
	for i := range r.Inputs {
		in := &r.Inputs[i]
		was := *in
		in.Path = Moved(was.Path, moves)
		if was.Real != "" {
			in.Real = Moved(was.Real, moves)
		}
		if in.Path != was.Path || in.Real != was.Real {
			in.FileID, in.was = 0, &was
		}
	}
}
