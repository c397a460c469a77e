package hadoop

import (
	"errors"
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// jobFiles matches the names of files with the properties of jobs, for filepath.Glob and
// os.CreateTemp.
const jobFiles = "rowtocol-job-*.xml"

// writeJobFile writes the file with the properties of a job, which Hadoop's client reads. The file
// is locked until this process ends, so that a later run can remove the file of a killed one.
func (e *Engine) writeJobFile(j *running, write func(io.Writer) error) (err error) {
	sweepJobFiles(e.o.TempDir)
	if j.file, err = os.CreateTemp(e.o.TempDir, jobFiles); err != nil {
		return err
	}
	return errors.Join(unix.Flock(int(j.file.Fd()), unix.LOCK_EX|unix.LOCK_NB), write(j.file))
}

// removeFile removes the file with the properties of a job. The file has no secrets, so it is
// harmless if it stays.
func (j *running) removeFile() {
	if j.file != nil {
		_ = os.Remove(j.file.Name())
		_ = j.file.Close()
	}
}

// sweepJobFiles removes the files of runs that were killed. A later run tries again after errors.
func sweepJobFiles(dir string) {
	names, _ := filepath.Glob(filepath.Join(dir, jobFiles)) // the pattern is valid
	for _, name := range names {
		f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW, 0)
		if err != nil {
			continue
		}
		//guard: keeps the file of a process that lives
		if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}
