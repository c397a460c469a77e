package manifest

import (
	"slices"
	"strings"
	"sync"
	"time"
)

// Relation is how an input is related to one that is known.
type Relation int

// The relations.
const (
	// Unrelated is another file with other bytes.
	Unrelated Relation = iota
	// SameFile is the known input, under whatever name.
	SameFile
	// SameContent is another file with the same bytes.
	SameContent
	// Changed has the known input's name and other bytes.
	Changed
	// Unopened is undecided until the header and the end of the input are read.
	Unopened
	// Unread is undecided until the whole CRC-32C of both inputs is known.
	Unread
)

// timeGrain is how close to a look a modification may be for a later one to get the
// same time.
const timeGrain = 2 * time.Second

// SetModified sets ModTime, and Recent if the file was modified within timeGrain of the
// look that began at began: a later change may then have the same time.
func (in *Input) SetModified(modified, began time.Time) {
	//guard: keeps a time out of documents that JSON cannot hold
	if y := modified.UTC().Year(); y < 1 || y > 9999 {
		modified = time.Time{}
	}
	in.ModTime = modified.UTC()
	in.Recent = modified.After(began.Add(-timeGrain)) && modified.Before(time.Now().Add(timeGrain))
}

// Location is the path that an input's path leads to through symbolic links.
func (in *Input) Location() string {
	if in.Real != "" {
		return in.Real
	}
	return in.Path
}

// Opened reports whether the header and the end of an input were read. An empty
// file has neither.
func (in *Input) Opened() bool { return in.HeaderSize > 0 || in.Size == 0 }

// Settled reports whether two looks at a file saw the same, and no change in
// between can have been missed: the bytes need not be compared.
func (in *Input) Settled(other *Input) bool {
	return in.Size == other.Size && in.sameTime(other) && !in.otherID(other)
}

// sameTime reports whether both were modified last at the same known time.
func (in *Input) sameTime(other *Input) bool {
	return !in.ModTime.IsZero() && !in.Recent && !other.Recent && in.ModTime.Equal(other.ModTime)
}

func (in *Input) sameID(other *Input) bool { return in.FileID != 0 && in.FileID == other.FileID }

// otherID reports whether the storage says that it is another file.
func (in *Input) otherID(other *Input) bool {
	return in.FileID != 0 && other.FileID != 0 && in.FileID != other.FileID
}

func (in *Input) sameEnds(other *Input) bool {
	return in.HeaderSize == other.HeaderSize && in.Identity == other.Identity
}

// sameName reports whether one of the names of an input is one of the other's.
func (in *Input) sameName(other *Input) bool {
	return in.Path == other.Path || in.Location() == other.Location()
}

// origin splits a location into the storage, empty for local disk, and the path.
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

// sameRemotePath reports whether two locations may be one file, by another client
// or another name of its storage's host.
func (in *Input) sameRemotePath(other *Input) bool {
	a, path := origin(in.Location())
	b, same := origin(other.Location())
	return a != "" && b != "" && path == same
}

// sameStore reports whether the IDs of two files are of one kind of storage.
func (in *Input) sameStore(other *Input) bool {
	a, _ := origin(in.Location())
	b, _ := origin(other.Location())
	return (a == "") == (b == "")
}

// Relate decides how an input is related to a known one. It is the only place that
// does. On Unopened or Unread the caller opens or reads the input and calls again.
func (in *Input) Relate(known *Input) Relation {
	//guard: converts a file again that is still where it was, though its tree moved
	if known.was != nil && in.relate(known.was) == SameFile {
		return SameFile
	}
	return in.relate(known)
}

// relate is Relate to a known input under its present name alone.
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
	case name && in.CRC32C != nil && known.CRC32C != nil: // an earlier answer: the input was not opened
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

// byName lets the names decide.
func (in *Input) byName(known *Input, same, other Relation) Relation {
	if in.sameName(known) {
		return same
	}
	return other
}

// byContent lets the whole CRC-32C decide.
func (in *Input) byContent(known *Input, same, other Relation) Relation {
	switch {
	case in.CRC32C == nil || known.CRC32C == nil:
		return Unread
	case *in.CRC32C == *known.CRC32C:
		return same
	}
	return other
}

// Known finds known inputs. It must not be changed while it is used concurrently.
type Known struct {
	inputs []Input
	owners []string
	names  map[string]int   // the first of each name
	shared map[string][]int // all, where several have a name

	mu     sync.Mutex
	sought int              // how many inputs what follows has: most files are found by their names
	remote map[string][]int // by the path without its storage
	ids    map[uint64][]int
	ends   map[ends][]int
}

// ends are what inputs with the same bytes share.
type ends struct {
	size     int64
	identity uint32
}

// NewKnown returns an index of inputs, which have no owner.
func NewKnown(inputs ...Input) *Known {
	k := &Known{names: make(map[string]int, len(inputs)), shared: make(map[string][]int), inputs: slices.Clip(inputs)}
	for i := range inputs {
		k.addNames(i)
	}
	return k
}

// Add adds an input that an owner has.
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

// owner is who has an input.
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

// named are the inputs that have a name.
func (k *Known) named(name string) []int {
	if all := k.shared[name]; all != nil {
		return all
	}
	if first, ok := k.names[name]; ok {
		return []int{first}
	}
	return nil
}

// seek makes what inputs are found by that have another name.
func (k *Known) seek() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ids == nil {
		k.remote, k.ids, k.ends = make(map[string][]int), make(map[uint64][]int), make(map[ends][]int)
	}
	for ; k.sought < len(k.inputs); k.sought++ {
		i, in := k.sought, &k.inputs[k.sought]
		if storage, path := origin(in.Location()); storage != "" {
			k.remote[path] = append(k.remote[path], i)
		}
		if in.FileID != 0 {
			k.ids[in.FileID] = append(k.ids[in.FileID], i)
		}
		if in.was != nil && in.was.FileID != 0 {
			k.ids[in.was.FileID] = append(k.ids[in.was.FileID], i)
		}
		of := ends{in.Size, in.Identity}
		k.ends[of] = append(k.ends[of], i)
	}
}

// Len is how many inputs are known.
func (k *Known) Len() int { return len(k.inputs) }

// Named returns the known input that has one of the names of in; nil if there is none.
func (k *Known) Named(in *Input) *Match {
	for _, name := range []string{in.Location(), in.Path} {
		if i, ok := k.names[name]; ok && in.sameName(&k.inputs[i]) {
			return &Match{Input: k.inputs[i], Owner: k.owner(i)}
		}
	}
	return nil
}

// Alike is how many known inputs have the length, the header and the end of in, which
// has rows.
func (k *Known) Alike(in *Input) int {
	if in.Size == 0 {
		return 0
	}
	k.seek()
	return len(k.ends[ends{in.Size, in.Identity}])
}

// Match is a known input that another is related to.
type Match struct {
	Input
	Owner    string
	Relation Relation
}

// Find returns the known input that tells most about in, among those of other
// owners than not: the one of its name or, if there is none, the same file under
// another name. Files with the same content are looked for last, if content is set.
func (k *Known) Find(in *Input, not string, content bool) (m Match) {
	found := func(candidates []int) bool {
		m = k.best(in, candidates, not, SameFile, Unread, Unopened, Changed)
		return m.Relation != Unrelated
	}
	if found(k.named(in.Location())) || in.Real != "" && found(k.named(in.Path)) {
		return m
	}
	k.seek()
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
	return k.best(in, k.ends[ends{in.Size, in.Identity}], not, SameContent, Unread)
}

// best returns the first candidate of the first of some relations.
func (k *Known) best(in *Input, candidates []int, not string, relations ...Relation) (best Match) {
	rank := len(relations)
	for _, i := range candidates {
		if not != "" && k.owner(i) == not {
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

// Move is a tree, or a cluster, that is somewhere else now.
type Move struct{ From, To string }

// Moved returns what a location is after some moves, one after another.
func Moved(location string, moves []Move) string {
	for _, m := range moves {
		if rest, ok := cutTree(location, m.From); ok {
			location = strings.TrimSuffix(m.To, "/") + rest
		}
	}
	return location
}

// cutTree returns what follows the path of a tree in a location, if that is in the tree.
func cutTree(location, tree string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(location, strings.TrimSuffix(tree, "/"))
	return rest, ok && (rest == "" || rest[0] == '/')
}

// InTree reports whether a location is that of a tree, or in it.
func InTree(location, tree string) bool {
	_, ok := cutTree(location, tree)
	return ok
}

// MoveInputs gives the inputs of an output the names that they have after some
// moves. In another place the storage gives other IDs.
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
