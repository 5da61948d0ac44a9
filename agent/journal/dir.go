// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Dir is a journal in a directory, with a file for each run. A record counts as written when it has
// been synced to the disk; records that are appended at the same time share a sync. A record that
// was being written when the process was killed is dropped when the run is opened again. Other
// damage is [ErrCorrupt].
//
// The operating system locks an open run, and unlocks it when the process ends: with flock on Unix,
// with a share mode on Windows. On other systems only runs of the same process are kept apart.
type Dir struct{ path string }

var _ Journal = (*Dir)(nil)

const fileSuffix = ".jsonl"

// NewDir returns the journal in a directory, which is created if it does not exist.
func NewDir(path string) (*Dir, error) {
	if path == "" {
		return nil, errors.New("journal: NewDir: the path is empty: use \".\" for the current directory")
	}
	abs, err := filepath.Abs(path)
	if err == nil {
		err = os.MkdirAll(abs, 0o700)
	}
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	return &Dir{path: abs}, nil
}

// Open implements [Journal].
func (d *Dir) Open(_ context.Context, runID string) (Log, error) {
	if runID == "" {
		return nil, errNoID
	}
	path := d.file(runID)
	file, err := locked(path, true)
	if err != nil {
		return nil, err
	}
	l, err := openLog(file, runID)
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return l, nil
}

// lockedFile is a file that is locked until it is closed.
type lockedFile struct {
	*os.File
	// unlock is called before the file is closed, where closing it may not unlock it. It may be
	// nil.
	unlock func()
}

func (f *lockedFile) Close() error {
	if f.unlock != nil {
		f.unlock()
		f.unlock = nil
	}
	return f.File.Close()
}

// locked opens a file and locks it.
func locked(path string, create bool) (*lockedFile, error) {
	return lockedBy(path, func() (*lockedFile, error) { return openLocked(path, create) })
}

// lockedBy returns the file that open has opened and locked. If the file was removed or replaced in
// between, it opens the file again.
func lockedBy(path string, open func() (*lockedFile, error)) (*lockedFile, error) {
	for {
		file, err := open()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		mine, err := file.Stat()
		if err == nil {
			var there fs.FileInfo
			if there, err = os.Stat(path); err == nil && os.SameFile(mine, there) {
				return file, nil
			}
		}
		if closeErr := file.Close(); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, errors.Join(err, closeErr)
		}
	}
}

// Runs returns the ids of all runs that have a record, sorted.
func (d *Dir) Runs() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return nil, fmt.Errorf("journal: %w", err)
	}
	var runs []string
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), fileSuffix) {
			continue
		}
		if run, ok := runOf(filepath.Join(d.path, e.Name())); ok {
			runs = append(runs, run)
		}
	}
	slices.Sort(runs)
	return runs, nil
}

// Remove removes the records of a run. It fails with [ErrInUse] if the run is open. A run without
// records is not an error.
func (d *Dir) Remove(runID string) error {
	path := d.file(runID)
	file, err := locked(path, false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = file.remove()
	}
	if err != nil {
		return fmt.Errorf("journal: remove run %q: %w", runID, err)
	}
	return nil
}

// file returns the name of a run's file: the id, with special characters escaped, and cut with a
// hash appended if it is long. The file's header holds the id itself.
func (d *Dir) file(runID string) string {
	const longest = 160
	var b strings.Builder
	for i := range len(runID) {
		switch c := runID[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	name := b.String()
	if len(name) > longest {
		name = fmt.Sprintf("%s~%x", name[:longest/2], sha256.Sum256([]byte(runID)))
	}
	return filepath.Join(d.path, name+fileSuffix)
}
