// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"weak"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app/internal/sealing"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// undo makes the recorders of sessions. They outlive the process, if the sessions do.
type undo struct {
	program string
	dir     func(id string) string // of a session; it returns "" for one that is kept in memory, and nil stands for all of them
	tell    func(error)
	// keyring returns what the files are encrypted with, nil if they are not.
	keyring func(context.Context) (*session.Keyring, error)

	mu sync.Mutex
	// memory has the recorders that could not be kept in a directory, for when their sessions wake.
	memory map[weak.Pointer[host.Session]]*checkpoint.Recorder
}

// bounds limits the history kept for one session.
var bounds = checkpoint.Options{MaxBytes: 16 << 20, MaxChanges: 1000}

// open returns the recorder of a session that is opened, wakes or moves.
func (u *undo) open(s *host.Session, id string, files workspace.Workspace) *checkpoint.Recorder {
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
			u.remember(key, r)
			return r
		}
	}
	dir := ""
	if u.dir != nil {
		dir = u.dir(id)
	}
	if dir != "" {
		var r *checkpoint.Recorder
		told := sync.Once{}
		o := bounds
		o.Problem = func(err error) {
			told.Do(func() { u.tell(err) })
			u.remember(key, r)
		}
		err := u.encrypt(&o)
		if err == nil {
			r, err = checkpoint.Keep(files, dir, o)
		}
		if err == nil {
			return r
		}
		u.tell(fmt.Errorf("/undo of this session forgets when %s ends: %w", u.program, err))
	}
	r := checkpoint.New(files, bounds)
	u.remember(key, r)
	return r
}

// encrypt sets the cipher, if sessions are encrypted.
func (u *undo) encrypt(o *checkpoint.Options) error {
	if u.keyring == nil {
		return nil
	}
	ring, err := u.keyring(context.Background()) // which was read before, for the store
	o.Cipher = sealing.With(ring)
	return err
}

// remember keeps a recorder in memory until its session is closed.
func (u *undo) remember(key weak.Pointer[host.Session], r *checkpoint.Recorder) {
	s := key.Value()
	if s == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.memory == nil {
		u.memory = map[weak.Pointer[host.Session]]*checkpoint.Recorder{}
	}
	if u.memory[key] == nil {
		runtime.AddCleanup(s, func(key weak.Pointer[host.Session]) {
			u.mu.Lock()
			defer u.mu.Unlock()
			delete(u.memory, key)
		}, key)
	}
	u.memory[key] = r
}
