package job

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"path"
	"slices"
	"strings"

	"github.com/rowtocol/rowtocol/manifest"
	"github.com/rowtocol/rowtocol/shred"
	"github.com/rowtocol/rowtocol/store"
)

const (
	successName    = "_SUCCESS"
	workName       = ".rowtocol"
	quarantineName = "_quarantine"
	pendingName    = "success.json" // becomes _SUCCESS
	planName       = "plan.json"
	replacedPrefix = "replaced-"
	lockPrefix     = "lock-"
)

// attempt is one plan's work on one destination.
type attempt struct {
	r       *Request
	plan    *manifest.Plan
	columns *shred.Mapping // of the plan's schema; nil if there are no inputs
	st      store.Store
	dest    string
	root    string // DEST/.rowtocol
	dir     string // the attempt's own directory in root
	lock    *lock

	created    bool // DEST did not exist
	begun      bool // the state was read: what is in dir is ours to discard
	pending    bool // DEST may hold parts of this attempt: dir has to stay
	hasResults bool // dir has results of tasks
}

func newAttempt(r *Request, p *manifest.Plan, columns *shred.Mapping) (*attempt, error) {
	dest, err := r.resolve(r.Dest)
	if err != nil {
		return nil, err
	}
	root := path.Join(dest.Path, workName)
	return &attempt{r: r, plan: p, columns: columns, st: dest.Store, dest: dest.Path, root: root, dir: path.Join(root, p.ID)}, nil
}

// state is what a destination holds.
type state struct {
	exists     bool
	leftovers  bool              // files of a job that did not end well
	success    *manifest.Success // nil without a _SUCCESS of ours
	successRaw []byte
	broken     string              // why success is not the truth, or empty
	owned      map[string]bool     // output files that our documents list
	temps      []string            // paths
	foreign    []string            // names that are not ours
	attempts   map[string][]string // directories in root → names in them
}

// look reads the state of the destination.
func (a *attempt) look(ctx context.Context) (*state, error) {
	s := &state{owned: make(map[string]bool), attempts: make(map[string][]string)}
	infos, err := a.st.List(ctx, a.dest)
	if errors.Is(err, store.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, fmt.Errorf("destination %s: %w", a.dest, err)
	}
	s.exists = true
	if err := a.lookAttempts(ctx, s); err != nil {
		return nil, err
	}
	for _, info := range infos {
		if info.Name != successName || info.Dir {
			continue
		}
		if s.successRaw, err = a.st.ReadFile(ctx, info.Path, manifest.MaxSize); err != nil {
			return nil, fmt.Errorf("destination: %w", err)
		}
		if s.success, err = manifest.DecodeSuccess(s.successRaw); errors.Is(err, manifest.ErrVersion) {
			return nil, failf(ErrConflict, "%s: %w", info.Path, err)
		}
		if err == nil {
			s.own(s.success)
		}
	}
	tops := make(map[string]bool)
	for name := range s.owned {
		top, _, _ := strings.Cut(name, "/")
		tops[top] = true
	}
	for _, info := range infos {
		switch {
		case info.Name == workName || info.Name == lockName:
			s.leftovers = true
		case store.IsTemp(info.Name):
			s.temps, s.leftovers = append(s.temps, info.Path), true
		case info.Name == successName && s.success != nil, tops[info.Name]:
		default:
			s.foreign = append(s.foreign, info.Name)
		}
	}
	if s.success != nil {
		s.broken, err = a.missing(ctx, s.success)
	}
	return s, err
}

// lookAttempts finds the attempts and the documents of what they published or
// replaced.
func (a *attempt) lookAttempts(ctx context.Context, s *state) error {
	infos, err := a.st.List(ctx, a.root)
	if errors.Is(err, store.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("destination: %w", err)
	}
	for _, info := range infos {
		record := info.Path
		switch {
		case info.Dir:
			names, err := a.names(ctx, info.Path)
			if err != nil {
				return err
			}
			s.attempts[info.Name] = names
			if !slices.Contains(names, pendingName) {
				continue
			}
			record = path.Join(info.Path, pendingName)
		case !strings.HasPrefix(info.Name, replacedPrefix):
			continue
		}
		b, err := a.st.ReadFile(ctx, record, manifest.MaxSize)
		if errors.Is(err, store.ErrNotExist) {
			continue // a live job moved on
		}
		if err != nil {
			return fmt.Errorf("destination: %w", err)
		}
		doc, err := manifest.DecodeSuccess(b)
		if err != nil {
			return failf(ErrConflict, "%s: %w", record, err)
		}
		s.own(doc)
	}
	return nil
}

func (a *attempt) names(ctx context.Context, dir string) ([]string, error) {
	infos, err := a.st.List(ctx, dir)
	if err != nil && !errors.Is(err, store.ErrNotExist) {
		return nil, fmt.Errorf("destination: %w", err)
	}
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name
	}
	return names, nil
}

// own notes the files that a document lists. A name that leads out of the
// destination, or to what only this package writes, is not an output's.
func (s *state) own(doc *manifest.Success) {
	add := func(name string) {
		clean := path.Clean("/" + name)[1:]
		top, _, _ := strings.Cut(clean, "/")
		if clean == name && top != "" && top != workName && top != lockName && top != successName {
			s.owned[name] = true
		}
	}
	for _, p := range doc.Parts {
		add(p.Name)
	}
	for _, l := range doc.Losses {
		if l.Quarantine != "" {
			add(l.Quarantine)
		}
	}
}

// missing says which file of a committed output is not there whole.
func (a *attempt) missing(ctx context.Context, doc *manifest.Success) (string, error) {
	for _, p := range doc.Parts {
		info, err := a.st.Stat(ctx, path.Join(a.dest, p.Name))
		switch {
		case errors.Is(err, store.ErrNotExist):
			return p.Name + " is missing", nil
		case err != nil:
			return "", fmt.Errorf("destination: %w", err)
		case info.Dir || info.Size != p.Bytes:
			return fmt.Sprintf("%s has %d bytes, not %d", p.Name, info.Size, p.Bytes), nil
		}
	}
	return "", nil
}

// done reports whether the destination already is what the plan would make.
func (s *state) done(p *manifest.Plan) bool {
	return s.success != nil && s.success.Plan == p.ID && s.broken == ""
}

// namedForeign is the number of foreign names that an error lists.
const namedForeign = 3

// allow refuses a destination that the job must not fill.
func (s *state) allow(dest string, overwrite bool) error {
	if n := len(s.foreign); n > 0 {
		names := strings.Join(s.foreign[:min(n, namedForeign)], ", ")
		if n > namedForeign {
			names += fmt.Sprintf(" and %d more", n-namedForeign)
		}
		return failf(ErrConflict, "destination %s holds what rowtocol did not write: %s", dest, names)
	}
	switch {
	case s.success == nil || overwrite:
		return nil
	case s.broken != "":
		return failf(ErrConflict, "destination %s holds an output that was changed: %s; --overwrite makes it anew", dest, s.broken)
	default:
		return failf(ErrConflict, "destination %s holds the output of another job (plan %s); --overwrite replaces it", dest, s.success.Plan)
	}
}

// prepare makes the directories that the lock needs.
func (a *attempt) prepare(ctx context.Context, s *state) error {
	if !s.exists {
		parent := path.Dir(a.dest)
		_, err := a.st.Stat(ctx, parent)
		if errors.Is(err, store.ErrNotExist) {
			return failf(ErrFinal, "destination %s: its parent directory does not exist", a.dest)
		}
		if err != nil {
			return fmt.Errorf("destination: %w", err)
		}
		a.created = true
	}
	if err := makeDir(ctx, a.st, a.root); err != nil {
		clean, cancel := store.Cleanup(ctx)
		defer cancel()
		a.unmake(clean)
		return fmt.Errorf("destination: %w", err)
	}
	return nil
}

// makeDir makes a directory and those above it that are missing; that it exists
// is no error.
func makeDir(ctx context.Context, st store.Store, p string) error {
	return store.Retry(ctx, st, "make directory "+p, func(ctx context.Context) error {
		err := st.Mkdir(ctx, p)
		if errors.Is(err, store.ErrNoParent) {
			if err = makeDir(ctx, st, path.Dir(p)); err == nil {
				err = st.Mkdir(ctx, p)
			}
		}
		if errors.Is(err, store.ErrExist) {
			return nil
		}
		return err
	})
}

// sweep removes what dead jobs left and makes the attempt's directory. The
// document of an attempt that was publishing becomes a record, so that its
// parts are still known when this attempt replaces them.
func (a *attempt) sweep(ctx context.Context, s *state) error {
	if err := a.removeTemps(ctx, s); err != nil {
		return err
	}
	for id, names := range s.attempts {
		dir := path.Join(a.root, id)
		if id == a.plan.ID {
			if err := a.sweepTemps(ctx, dir); err != nil {
				return err
			}
			continue
		}
		if slices.Contains(names, pendingName) {
			err := a.st.Rename(ctx, path.Join(dir, pendingName), path.Join(a.root, replacedPrefix+id))
			if err != nil && !errors.Is(err, store.ErrExist) {
				return err
			}
		}
		if err := a.st.RemoveAll(ctx, dir); err != nil {
			return err
		}
	}
	return makeDir(ctx, a.st, a.dir)
}

// sweepTemps removes the temporary files below dir.
func (a *attempt) sweepTemps(ctx context.Context, dir string) error {
	infos, err := a.st.List(ctx, dir)
	if err != nil {
		return err
	}
	for _, info := range infos {
		switch {
		case info.Dir:
			err = a.sweepTemps(ctx, info.Path)
		case store.IsTemp(info.Name):
			err = a.st.Remove(ctx, info.Path)
		}
		if err != nil && !errors.Is(err, store.ErrNotExist) {
			return err
		}
	}
	return nil
}

// discard removes the attempt.
func (a *attempt) discard(ctx context.Context) error {
	return errors.Join(a.st.RemoveAll(ctx, a.dir), a.tidy(ctx))
}

// tidy removes the files of stale locks, and the work directory if nothing
// else is in it. Records of an overwrite that another attempt began stay: they
// are all that tells its parts from foreign files.
func (a *attempt) tidy(ctx context.Context) error {
	infos, err := a.st.List(ctx, a.root)
	if err != nil {
		return err
	}
	empty := true
	for _, info := range infos {
		if !info.Dir && strings.HasPrefix(info.Name, lockPrefix) {
			err = errors.Join(err, a.st.Remove(ctx, info.Path))
		} else {
			empty = false
		}
	}
	if empty && err == nil {
		err = a.st.Remove(ctx, a.root)
	}
	return err
}

// unmake removes the destination if this job made it and left it empty.
func (a *attempt) unmake(ctx context.Context) {
	if a.created {
		_ = a.st.Remove(ctx, a.root) // neither is removed while it holds anything
		_ = a.st.Remove(ctx, a.dest)
	}
}

// sum returns the length and the CRC-32C of a file.
func (a *attempt) sum(ctx context.Context, file string) (int64, uint32, error) {
	f, err := a.st.Open(ctx, file)
	if err != nil {
		return 0, 0, err
	}
	defer func() { _ = f.Close() }()
	h := crc32.New(castagnoli)
	n, err := copyContext(ctx, h, f)
	return n, h.Sum32(), err
}
