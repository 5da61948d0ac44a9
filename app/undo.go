// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
	"weak"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// undoDir returns the directory of what /undo needs of a session, in a directory of this machine.
func undoDir(store, id string) string {
	other := func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, other) { // such as one from an import; file systems may not tell a from A
		sum := sha256.Sum256([]byte(id))
		id = "id-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(store, "undo", id)
}

// forgetUndo removes what /undo needs of sessions that have been removed.
func forgetUndo(store string, removed ...sessions.Info) error {
	if store == "" {
		return nil
	}
	for _, info := range removed {
		if err := os.RemoveAll(undoDir(store, info.ID)); err != nil {
			return fmt.Errorf("the session %s is removed, but not what /undo has of it: %w", info.ID, err)
		}
	}
	return nil
}

// gone is how old what /undo needs of a session has to be for it to be removed because the store has no such session. A store that is
// empty for a day, such as while a backup is restored, is not the reason to forget it.
const gone = 30 * 24 * time.Hour

// forgetGone removes what /undo needs of sessions that another program has removed, on this machine or another one.
func forgetGone(ctx context.Context, store sessions.Store, local string) {
	if local == "" {
		return
	}
	kept, err := os.ReadDir(filepath.Join(local, "undo"))
	if err != nil {
		return // there is none
	}
	for _, dir := range kept {
		info, err := dir.Info()
		if err != nil || time.Since(info.ModTime()) < gone || undoDir(local, dir.Name()) != filepath.Join(local, "undo", dir.Name()) {
			continue // it is in use, or its name is not the session's
		}
		if _, err := store.Get(ctx, dir.Name()); errors.Is(err, sessions.ErrNotFound) {
			_ = os.RemoveAll(filepath.Join(local, "undo", dir.Name())) // the next time, if not now
		}
	}
}

// undo makes the recorders of sessions. They outlive the process, if the sessions do.
type undo struct {
	dir  func(id string) string // of a session; it returns "" for one that is kept in memory, and nil stands for all of them
	tell func(error)

	mu sync.Mutex
	// memory has the recorders that could not be kept in a directory, for when their sessions wake.
	memory map[weak.Pointer[deps.Session]]*checkpoint.Recorder
}

// bounds limits the history kept for one session.
var bounds = checkpoint.Options{MaxBytes: 16 << 20, MaxChanges: 1000}

// open returns the recorder of a session that is opened or wakes.
func (u *undo) open(s *deps.Session, files workspace.Workspace) *checkpoint.Recorder {
	if u == nil || s == nil {
		return checkpoint.New(files, bounds)
	}
	key := weak.Make(s)
	u.mu.Lock()
	before := u.memory[key]
	u.mu.Unlock()
	if before != nil {
		content := func(hash string) ([]byte, error) {
			if data, ok := before.Content(hash); ok {
				return data, nil
			}
			return nil, os.ErrNotExist
		}
		if r, err := checkpoint.Restore(files, before.Log(), content, bounds); err == nil {
			u.remember(s, r)
			return r
		}
	}
	dir := ""
	if u.dir != nil {
		dir = u.dir(string(s.ID))
	}
	if dir != "" {
		var r *checkpoint.Recorder
		told := sync.Once{}
		o := bounds
		o.Problem = func(err error) {
			told.Do(func() { u.tell(err) })
			u.remember(s, r)
		}
		var err error
		if r, err = checkpoint.Keep(files, dir, o); err == nil {
			return r
		}
		u.tell(fmt.Errorf("/undo of this session forgets when ideagent ends: %w", err))
	}
	r := checkpoint.New(files, bounds)
	u.remember(s, r)
	return r
}

// remember keeps a recorder in memory until its session is closed.
func (u *undo) remember(s *deps.Session, r *checkpoint.Recorder) {
	key := weak.Make(s)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.memory == nil {
		u.memory = map[weak.Pointer[deps.Session]]*checkpoint.Recorder{}
	}
	if u.memory[key] == nil {
		runtime.AddCleanup(s, func(key weak.Pointer[deps.Session]) {
			u.mu.Lock()
			defer u.mu.Unlock()
			delete(u.memory, key)
		}, key)
	}
	u.memory[key] = r
}
