package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
)

// Sweep removes the folders of dead processes in parent. It returns warnings of folders in which other
// programs have files. It leaves folders that cannot be locked or removed, such as folders of
// other users.
func Sweep(parent string) (warnings []string, err error) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), folderPrefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		lock, err := lockDir(dir)
		if err != nil {
			continue
		}
		if foreign, _ := removeFolder(dir, lock); len(foreign) > 0 {
			if _, before := warned.LoadOrStore(dir, true); !before {
				warnings = append(warnings, warningOf(dir, foreign))
			}
		}
		_ = lock.Close()
	}
	return warnings, nil
}

// warned has the folders that this process was warned of.
var warned sync.Map

func warningOf(dir string, foreign []string) string {
	const most = 5
	more := ""
	if n := len(foreign); n > most {
		foreign, more = foreign[:most], fmt.Sprintf(" and %d more", n-most)
	}
	return fmt.Sprintf("files in %s, which a killed run left, are not rowtocol's and are kept: %q%s; move them away and remove the directory", dir, foreign, more)
}

// folderDepth is the number of levels of directories in a folder. A spill has only files.
const folderDepth = 1

// removeFolder removes a locked folder with the files that this program made in it. It returns
// the paths of other files in the folder. If there are any, they stay with the folder.
func removeFolder(dir string, lock *os.File) (foreign []string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, unlessGone(err)
	}
	defer func() { _ = root.Close() }()
	opened, err := root.Stat(".")
	if err != nil {
		return nil, err
	}
	//guard: does not follow a link in place of the folder
	if err := checkSame(lock, opened); err != nil {
		return nil, err
	}
	if foreign, err = removeOwn(root, "", folderDepth); err == nil && len(foreign) == 0 {
		err = unlessGone(os.Remove(dir))
	}
	return foreign, err
}

// removeOwn removes the files in a directory whose names are numbers, as this program names
// files, and directories with such names down to a depth. It goes on after an error.
func removeOwn(root *os.Root, at string, depth int) (foreign []string, err error) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, err
	}
	entries, err := dir.ReadDir(-1)
	err = errors.Join(err, dir.Close())
	for _, e := range entries {
		name := e.Name()
		own := e.Type().IsRegular() || e.IsDir() && depth > 0
		//guard: keeps the files of other programs
		if strings.Trim(name, "0123456789") != "" || !own {
			foreign = append(foreign, path.Join(at, name))
			continue
		}
		if e.IsDir() {
			inside, failed := removeInside(root, name, path.Join(at, name), depth-1)
			err = errors.Join(err, failed)
			if foreign = append(foreign, inside...); len(inside) > 0 {
				continue
			}
		}
		err = errors.Join(err, unlessGone(root.Remove(name)))
	}
	return foreign, err
}

// removeInside is removeOwn for a directory in another directory.
func removeInside(root *os.Root, name, at string, depth int) (foreign []string, err error) {
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, unlessGone(err)
	}
	defer func() { _ = sub.Close() }()
	return removeOwn(sub, at, depth)
}

// unlessGone returns err, or nil if err says that the file does not exist.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
