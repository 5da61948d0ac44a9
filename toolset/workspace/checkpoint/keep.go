// SPDX-License-Identifier: Apache-2.0

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// logFile is the name of the log in a directory of [Keep]. Contents are files that are named by
// their hash.
const logFile = "log.json"

// Keep returns a recorder that restores its log and contents from a directory, and writes them
// there after each checkpoint, and before and after each change. So the next process can undo the
// same changes, even if this one was killed in the middle of one: that is then [FileChange.Unsure].
// Directories and files are created with the first checkpoint, accessible only to the user. Dropped
// contents are removed. A directory belongs to one recorder at a time. Nothing is synced to the
// disk: a power failure may lose the last changes.
//
// With [Options.Cipher] the files are encrypted, and names do not reveal contents. Readable are
// sizes and times. Files that were written without it, or with other keys, are [ErrLog].
//
// A log that cannot be used is [ErrLog], and is not changed. Changes whose contents are missing
// or damaged cannot be undone. Errors of writing go to [Options.Problem], and the change of the
// file itself is kept.
func Keep(w workspace.Workspace, dir string, o Options) (*Recorder, error) {
	if err := check(w, &o); err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, errors.New("checkpoint: Keep: the directory is empty")
	}
	k := &keeper{dir: dir, saved: map[string]bool{}, cipher: o.Cipher, problem: o.Problem}
	data, err := os.ReadFile(filepath.Join(dir, logFile))
	r := New(w, o)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("checkpoint: %w", err)
	default:
		var l Log
		if data, err = k.open(data, logFile); err == nil {
			err = json.Unmarshal(data, &l)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrLog, filepath.Join(dir, logFile), err)
		}
		if r, err = Restore(w, l, k.content, o); err != nil {
			return nil, err
		}
		k.known()
	}
	r.keeper = k
	return r, nil
}

// keeper keeps a recorder in a directory.
type keeper struct {
	dir     string
	cipher  *Cipher // may be nil
	problem func(error)

	mu    sync.Mutex
	saved map[string]bool // names of the files of contents that are in the directory
}

// name returns the name of the file of contents. It is empty for what is not a hash.
func (k *keeper) name(hash string) string {
	sum, ok := strings.CutPrefix(hash, "sha256:")
	if !ok || !isName(sum) {
		return ""
	}
	if k.cipher != nil {
		return k.cipher.Hide(sum, "checkpoint")
	}
	return sum
}

// isName reports whether a file may have contents.
func isName(name string) bool {
	return len(name) == 64 && strings.Trim(name, "0123456789abcdef") == ""
}

// seal and open encrypt and decrypt a file, if there is a cipher.
func (k *keeper) seal(data []byte, name string) ([]byte, error) {
	if k.cipher == nil {
		return data, nil
	}
	return k.cipher.Seal(data, "checkpoint "+name)
}

func (k *keeper) open(data []byte, name string) ([]byte, error) {
	if k.cipher == nil {
		return data, nil
	}
	return k.cipher.Open(data, "checkpoint "+name)
}

// content reads contents. Those that are damaged count as missing.
func (k *keeper) content(hash string) ([]byte, error) {
	name := k.name(hash)
	if name == "" {
		return nil, fs.ErrNotExist
	}
	data, err := os.ReadFile(filepath.Join(k.dir, name))
	if err == nil {
		data, err = k.open(data, name)
	}
	if err == nil && hashOf(data) != hash {
		err = fs.ErrNotExist
	}
	return data, err
}

// known finds out what the directory has.
func (k *keeper) known() {
	files, _ := os.ReadDir(k.dir) // what is not found is written again
	for _, f := range files {
		if isName(f.Name()) {
			k.saved[f.Name()] = true
		}
	}
}

// save writes what is new. Saves follow each other, each with the log as it is then.
func (r *Recorder) save() {
	k := r.keeper
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	r.mu.Lock()
	l := r.log
	if r.pending != nil {
		l.Changes = append(slices.Clip(l.Changes), *r.pending)
	}
	data, err := json.Marshal(&l)
	contents := make(map[string][]byte, len(r.contents.byHash))
	for hash, c := range r.contents.byHash {
		contents[k.name(hash)] = c.data // which is never changed
	}
	r.mu.Unlock()
	if err == nil {
		err = os.MkdirAll(k.dir, 0o700)
	}
	for name, data := range contents {
		if err == nil && !k.saved[name] {
			if data, err = k.seal(data, name); err == nil {
				err = replace(filepath.Join(k.dir, name), data)
			}
			k.saved[name] = err == nil
		}
	}
	if err == nil {
		data, err = k.seal(data, logFile)
	}
	if err == nil {
		err = replace(filepath.Join(k.dir, logFile), data)
	}
	if err != nil {
		if k.problem != nil {
			k.problem(fmt.Errorf("checkpoint: cannot keep checkpoints: %w", err))
		}
		return
	}
	for name := range k.saved {
		if _, used := contents[name]; !used {
			_ = os.Remove(filepath.Join(k.dir, name)) // what stays is removed another time
			delete(k.saved, name)
		}
	}
}

// replace writes a file. Whoever reads it gets the old one or the new one.
func replace(name string, data []byte) error {
	t, err := os.CreateTemp(filepath.Dir(name), ".new-*") // which nobody else can read
	if err != nil {
		return err
	}
	_, err = t.Write(data)
	if err = errors.Join(err, t.Close()); err == nil {
		err = os.Rename(t.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(t.Name()))
	}
	return nil
}
