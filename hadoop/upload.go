package hadoop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rowtocol/rowtocol/internal/parallel"
	"github.com/rowtocol/rowtocol/job/failure"
	"github.com/rowtocol/rowtocol/job/input"
	"github.com/rowtocol/rowtocol/job/task"
	"github.com/rowtocol/rowtocol/store"
)

const (
	homeName  = ".rowtocol" // name of the directory in the user's home directory
	jobPrefix = "job-"
	// endedPrefix begins the name of the document with the plans of a job that has ended.
	endedPrefix = "ended-"
	tasksFile   = "tasks"
	plansFile   = "plans.json"
	carriers    = "carriers"
	maxPlans    = 64 << 20 // bytes of plansFile
	maxHash     = 32       // digits of the hash in the program's file name
	uploads     = 16       // carriers that are written at the same time
	privateDir  = 0o700
	privateExe  = 0o500
)

// home is the directory of the program and of jobs on the cluster. The directory belongs to the
// user, and other users cannot enter it.
type home struct {
	store.Location
	access store.Capabilities
	owner  string
}

// openHome opens the directory, and makes the directory if it does not exist.
func openHome(ctx context.Context, resolve input.Resolve, location string) (*home, error) {
	at, err := input.Locate(resolve, location)
	if err != nil {
		return nil, err
	}
	h := &home{Location: at, access: store.CapabilitiesOf(at.Store)}
	//guard: rejects a store that has no owners and permissions
	if h.access.Access == nil {
		return nil, failure.New(failure.Usage, "the home directory %s is not on HDFS: the default file system of the configuration (fs.defaultFS) must be HDFS", location)
	}
	h.Path = path.Join(at.Path, homeName)
	if err := mkdirs(ctx, h.Store, h.Path); err != nil {
		return nil, fmt.Errorf("the directory of the program and of jobs on the cluster: %w", err)
	}
	return h, h.secure(ctx)
}

// secure makes sure that no other user can change files in the directory. It finds the user's
// name by making a directory, whose owner is the user.
func (h *home) secure(ctx context.Context) error {
	var probeAccess, homeAccess store.Access
	err := store.Retry(ctx, h.Store, "check the owner of "+h.Path, func(ctx context.Context) (err error) {
		probe := store.TempName(path.Join(h.Path, "owner"))
		if err = h.Store.Mkdir(ctx, probe); err != nil {
			return err
		}
		clean, cancel := store.Cleanup(ctx)
		defer cancel()
		defer func() { _ = h.Store.Remove(clean, probe) }() // if it fails, home.jobs removes it later
		if probeAccess, err = h.access.Access(ctx, probe); err != nil {
			return err
		}
		homeAccess, err = h.access.Access(ctx, h.Path)
		return err
	})
	if err != nil {
		return err
	}
	h.owner = probeAccess.Owner
	//guard: rejects a directory of another owner
	if homeAccess.Owner != h.owner {
		return failure.New(failure.Refused, "%s belongs to %s, not to %s: it cannot hold the program that tasks run", h.Origin+h.Path, homeAccess.Owner, h.owner)
	}
	//guard: closes the directory to other users
	if homeAccess.Mode != privateDir {
		return h.access.SetMode(ctx, h.Path, privateDir)
	}
	return nil
}

// mkdirs makes a directory and its missing parents.
func mkdirs(ctx context.Context, st store.Store, dir string) error {
	info, err := st.Stat(ctx, dir)
	if err == nil && !info.Dir {
		return failure.New(failure.Foreign, "%s is not a directory", dir)
	}
	if !errors.Is(err, store.ErrNotExist) {
		return err
	}
	if parent := path.Dir(dir); parent != dir {
		if err := mkdirs(ctx, st, parent); err != nil {
			return err
		}
	}
	if err := st.Mkdir(ctx, dir); err != nil && !errors.Is(err, store.ErrExist) {
		return err
	}
	return nil
}

// uri returns the location of a file as a URI. Unlike a location, a URI is escaped.
func (h *home) uri(p string) string {
	scheme, authority := store.Scheme(h.Origin)
	return (&url.URL{Scheme: scheme, Host: authority, Path: p}).String()
}

// program uploads the program, unless it is already there, and returns its path.
func (h *home) program(ctx context.Context, executable string) (string, error) {
	f, err := os.Open(executable)
	if err != nil {
		return "", failure.As(failure.Usage, fmt.Errorf("cannot read this program to upload it: %w", err))
	}
	defer func() { _ = f.Close() }() // only read
	hash := sha256.New()
	size, err := io.Copy(hash, f)
	if err != nil {
		return "", fmt.Errorf("cannot read this program to upload it: %w", err)
	}
	p := path.Join(h.Path, "rowtocol-"+hex.EncodeToString(hash.Sum(nil))[:maxHash])
	if ok, err := h.isUploaded(ctx, p, size); ok || err != nil {
		return p, err
	}
	err = h.put(ctx, "upload the program", p, size, privateExe, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(f, 0, size))
		return err
	})
	return p, err
}

// isUploaded reports whether the program is there. It removes a different file with the
// program's name.
func (h *home) isUploaded(ctx context.Context, p string, size int64) (bool, error) {
	info, err := h.Store.Stat(ctx, p)
	if errors.Is(err, store.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	access, err := h.access.Access(ctx, p)
	if err != nil {
		return false, err
	}
	//guard: removes a truncated program, or one that others can write
	if info.Size != size || access.Owner != h.owner || access.Mode&0o022 != 0 {
		return false, h.Store.RemoveAll(ctx, p)
	}
	return true, nil
}

// put writes a file atomically, with retries. If a file with the same name exists by then, put
// keeps that file, because another run or an earlier try has written the same content. With a
// mode of 0, the file has the permissions that the cluster gives it.
func (h *home) put(ctx context.Context, what, p string, size int64, mode fs.FileMode, write func(io.Writer) error) error {
	return store.Retry(ctx, h.Store, what, func(ctx context.Context) error {
		temp := store.TempName(p)
		w, err := h.Store.Create(ctx, temp, store.CreateOptions{Size: size})
		if err != nil {
			return err
		}
		defer func() { _ = w.Abort() }() // if it fails, home.jobs removes the file later
		if err := write(w); err != nil {
			return err
		}
		if err := w.Commit(ctx); err != nil {
			return err
		}
		if mode != 0 {
			if err := h.access.SetMode(ctx, temp, mode); err != nil {
				return err
			}
		}
		err = h.Store.Rename(ctx, temp, p)
		if errors.Is(err, store.ErrExist) {
			clean, cancel := store.Cleanup(ctx)
			defer cancel()
			return h.Store.Remove(clean, temp)
		}
		return err
	})
}

// jobPlans is the document that lists the plans of the job in a directory.
type jobPlans struct {
	Version int       `json:"version"`
	Key     string    `json:"key"` // key of the job: the end of its directory's name
	Run     string    `json:"run"`
	Tasks   int       `json:"tasks"`
	Before  int       `json:"before"` // number of the plans' tasks that were done before
	Bytes   int64     `json:"bytes"`
	Plans   []jobPlan `json:"plans"`
}

type jobPlan struct {
	ID   string `json:"id"`
	Dest string `json:"dest"`
	Dir  string `json:"dir"`
}

func newJobPlans(key, run string, batches []task.Batch) *jobPlans {
	j := &jobPlans{Version: 1, Key: key, Run: run}
	for _, b := range batches {
		j.Tasks += len(b.Numbers)
		j.Before += max(len(b.Plan.Tasks)-len(b.Numbers), 0)
		j.Bytes += b.Bytes()
		j.Plans = append(j.Plans, jobPlan{ID: b.Plan.ID, Dest: b.Plan.Dest, Dir: b.Dir})
	}
	return j
}

// attached returns the plans for the run that publishes their outputs.
func (j *jobPlans) attached() (plans []task.Attached) {
	for _, p := range j.Plans {
		plans = append(plans, task.Attached{Dest: p.Dest, PlanID: p.ID})
	}
	return plans
}

// covers reports whether the job runs tasks of the plan of a batch, or of a plan that this plan
// replaces.
func (j *jobPlans) covers(b *task.Batch) bool {
	for _, p := range j.Plans {
		if p.Dest == b.Plan.Dest && (p.ID == b.Plan.ID || slices.Contains(b.Superseded, p.ID)) {
			return true
		}
	}
	return false
}

func (h *home) jobDir(key string) string { return path.Join(h.Path, jobPrefix+key) }

// makeJob makes the directory of a job.
func (h *home) makeJob(ctx context.Context, job Job, batches []task.Batch, l *layout, plans *jobPlans) error {
	dir := h.jobDir(plans.Key)
	if err := h.Store.Mkdir(ctx, dir); err != nil {
		return err
	}
	doc, err := json.Marshal(plans)
	if err != nil {
		return err
	}
	if err := h.Store.WriteFile(ctx, path.Join(dir, plansFile), doc, true); err != nil {
		return err
	}
	if len(l.carriers) > 0 {
		if err := h.Store.Mkdir(ctx, path.Join(dir, carriers)); err != nil {
			return err
		}
	}
	err = parallel.Do(ctx, len(l.carriers), uploads, func(ctx context.Context, i int) error {
		return h.Store.WriteFile(ctx, path.Join(dir, carriers, l.carriers[i]), []byte(carrierText), false)
	})
	if err != nil {
		return err
	}
	return h.put(ctx, "write the job's tasks", path.Join(dir, tasksFile), -1, 0, func(w io.Writer) error {
		return WriteTasks(w, job, batches, l.entries)
	})
}

// plansOf and endedOf return the path of the document with the plans of a job, before and after
// its end.
func (h *home) plansOf(key string) string { return path.Join(h.jobDir(key), plansFile) }
func (h *home) endedOf(key string) string { return path.Join(h.Path, endedPrefix+key+".json") }

// readPlans reads the plans of the job with a key from a document. It returns nil if there is no
// valid document.
func (h *home) readPlans(ctx context.Context, file, key string) (*jobPlans, error) {
	doc, err := h.Store.ReadFile(ctx, file, maxPlans)
	if store.Absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var j jobPlans
	if err := json.Unmarshal(doc, &j); err != nil || j.Version != 1 || j.Key != key {
		return nil, nil
	}
	return &j, nil
}

// jobs returns the time when each job's directory changed last, by key. It also removes old
// temporary files of interrupted uploads, and old documents of jobs that have ended.
func (h *home) jobs(ctx context.Context) (map[string]time.Time, error) {
	infos, err := h.Store.List(ctx, h.Path)
	if err != nil {
		return nil, err
	}
	jobs := make(map[string]time.Time)
	for _, info := range infos {
		key, ok := strings.CutPrefix(info.Name, jobPrefix)
		switch {
		case ok && info.Dir:
			jobs[key] = info.ModTime
		case (store.IsTemp(info.Name) || strings.HasPrefix(info.Name, endedPrefix)) && time.Since(info.ModTime) > jobDirMaxAge:
			_ = h.Store.RemoveAll(ctx, info.Path) // if it fails, the next run tries again
		}
	}
	return jobs, nil
}

// removeJob removes the directory of a job, even after ctx has ended. The document with its plans
// stays for a time, so that attaching to the job again finds that the output is published.
func (h *home) removeJob(ctx context.Context, key string) error {
	clean, cancel := store.Cleanup(ctx)
	defer cancel()
	_ = h.Store.Rename(clean, h.plansOf(key), h.endedOf(key)) // without it, attaching is refused
	return h.Store.RemoveAll(clean, h.jobDir(key))
}
