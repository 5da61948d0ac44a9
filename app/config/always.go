// SPDX-License-Identifier: Apache-2.0

package config

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/tailscale/hujson"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/internal/strictjson"
	"github.com/ponte-go/ponte/internal/wholefile"
	"github.com/ponte-go/ponte/toolset"
)

// Always is a rule of an answer "always in this project".
type Always struct {
	// Project is the directory of the project, absolute.
	Project string `json:"project"`
	approval.Rule
}

// always reads the answers "always in this project".
func (d *decoder) always(u *User, v *strictjson.Value) {
	for i, item := range v.Items {
		key := fmt.Sprintf("always[%d]", i)
		if !d.fits(Key{Name: key, Want: "an object"}, item) {
			continue
		}
		var a Always
		in := json.NewDecoder(bytes.NewReader(d.data[item.Start:item.End]))
		in.DisallowUnknownFields()
		if err := in.Decode(&a); err != nil {
			d.bad(item.Start, key, "is not what ideagent writes there (%v); remove it", err)
			continue
		}
		allowed := a.Verdict == toolset.VerdictAllow || a.Verdict == toolset.VerdictDeny
		if a.Tool == "" || !filepath.IsAbs(a.Project) || !allowed {
			const problem = "must have an absolute project, a tool, and a verdict: allow or deny"
			d.bad(item.Start, key, problem)
			continue
		}
		u.Always = append(u.Always, a)
	}
}

// plain returns the text of a file with blanks in the place of comments and trailing commas. It
// leaves errors to the parser that reads it next.
func plain(data []byte) []byte {
	body, marked := bytes.CutPrefix(data, mark)
	out, err := hujson.Standardize(ended(body))
	if err == nil && marked {
		return append(bytes.Clone(mark), out...)
	} else if err == nil {
		return out
	}
	return data
}

// mark is what some editors put before a text.
var mark = []byte("\xef\xbb\xbf")

// ended returns a copy of a text, for a parser that works in place, with the line break that it
// wants after a comment.
func ended(data []byte) []byte { return append(bytes.Clone(data), '\n') }

// Keeper keeps the rules of "always in this project" in the user's file. Comments and the order of
// the file stay. It implements [approval.Keeper].
type Keeper struct {
	// File is the user's file. It need not exist. Project is the directory of the project.
	File, Project string
}

// editing holds off other edits by this process. Those by other processes wait for the lock of the
// file: see [lockEdits].
var editing sync.Mutex

// Kept implements [approval.Keeper]. Rules of a file that cannot be read now are not there.
func (k *Keeper) Kept() (rules []approval.Rule, err error) {
	u, err := ReadUser(k.File)
	if err != nil {
		return nil, nil
	}
	for _, a := range u.Always {
		if a.Project == k.Project {
			rules = append(rules, a.Rule)
		}
	}
	return rules, nil
}

// Keep implements [approval.Keeper].
func (k *Keeper) Keep(rules ...approval.Rule) error {
	return k.edit(func(u *User, v *hujson.Value) (bool, error) {
		changed := false
		for _, r := range rules {
			a := Always{k.Project, r}
			if slices.Contains(u.Always, a) {
				continue
			}
			text, err := json.Marshal(a)
			if err != nil {
				return false, err
			}
			if u.Always = append(u.Always, a); v.Find("/always") == nil {
				if err := add(v, "/always", []byte("[]")); err != nil {
					return false, err
				}
			}
			if err := add(v, "/always/-", text); err != nil {
				return false, err
			}
			changed = true
		}
		return changed, nil
	})
}

// Drop implements [approval.Keeper].
func (k *Keeper) Drop(rule approval.Rule) error {
	return k.edit(func(u *User, v *hujson.Value) (bool, error) {
		return remove(v, "/always", u.Always, func(a Always) bool {
			return a == Always{k.Project, rule}
		}), nil
	})
}

// DropRule removes the rules of the permissions that have a text from the user's file: see
// [approval.ConfigRule.String].
func DropRule(file, rule string) error {
	return (&Keeper{File: file}).edit(func(u *User, v *hujson.Value) (bool, error) {
		all := u.Permissions.Rules
		return remove(v, "/permissions/rules", all, func(r approval.ConfigRule) bool {
			return r.String() == rule
		}), nil
	})
}

// add adds a value at a path.
func add(v *hujson.Value, path string, value []byte) error {
	return v.Patch(fmt.Appendf(nil, `[{"op":"add","path":%q,"value":%s}]`, path, value))
}

// remove removes the elements of the list at a path that go, and reports whether some did. all has
// them as they were read. The comments around them stay.
func remove[T any](v *hujson.Value, path string, all []T, goes func(T) bool) (some bool) {
	for i, one := range slices.Backward(all) {
		if !goes(one) {
			continue
		}
		some = true
		list := v.Find(path).Value.(*hujson.Array)
		next := &list.AfterExtra
		if i+1 < len(list.Elements) {
			next = &list.Elements[i+1].BeforeExtra
		}
		gone := list.Elements[i]
		*next = slices.Concat(gone.BeforeExtra, gone.AfterExtra, *next)
		list.Elements = slices.Delete(list.Elements, i, i+1)
	}
	return some
}

// edit changes the file, unless change reports that it has nothing to change. A file that has
// mistakes is not changed.
func (k *Keeper) edit(change func(u *User, v *hujson.Value) (bool, error)) error {
	editing.Lock()
	defer editing.Unlock()
	file := k.File
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real // whose link stays
	}
	unlock, err := lockEdits(file)
	if err != nil {
		return fmt.Errorf("%s: it cannot be locked: %w", k.File, err)
	}
	defer unlock()
	mode := fs.FileMode(0o600)
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		data = []byte("{\n}\n")
	case err != nil:
		return unreadable(k.File, err)
	default:
		if info, err := os.Stat(file); err == nil {
			mode = info.Mode().Perm()
		}
	}
	u, err := ParseUser(k.File, data)
	if err != nil {
		return err
	}
	body, marked := bytes.CutPrefix(data, mark)
	v, err := hujson.Parse(ended(body))
	if err != nil {
		return fmt.Errorf("%s: %w", k.File, err)
	}
	changed, err := change(u, &v)
	if err != nil || !changed {
		return err
	}
	v.Format()
	out := v.Pack()
	if marked {
		out = append(bytes.Clone(mark), out...)
	}
	if _, err := ParseUser(k.File, out); err != nil {
		return fmt.Errorf("the change would break the file: %w", err)
	}
	if now, err := os.ReadFile(file); err == nil && !bytes.Equal(now, data) {
		return fmt.Errorf("%s: another program has just changed it: try again", k.File)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return wholefile.Write(file, out, mode)
}

// lockName is the file beside the user's file that is locked during an edit. The user's file itself
// is replaced, and a lock on it would be lost.
func lockName(file string) string {
	return filepath.Join(filepath.Dir(file), "."+filepath.Base(file)+".lock")
}
