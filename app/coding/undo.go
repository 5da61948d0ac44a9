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
	memory map[weak.Pointer[host.Session]]*remembered
}

// bounds limits the history kept for one session.
var bounds = checkpoint.Options{MaxBytes: 16 << 20, MaxChanges: 1000}

// open returns the recorder of a session that is opened, wakes or moves.
func (u *undo) open(s *host.Session, id string, files workspace.Workspace) *checkpoint.Recorder {
	if u == nil || s == nil {
		return checkpoint.New(files, bounds)
	}
	key := weak.Make(s)
	if before := u.rest(key); before != nil {
		content := func(hash string) ([]byte, error) {
			if data, ok := before.contents[hash]; ok {
				return data, nil
			}
			return nil, os.ErrNotExist
		}
		if r, err := checkpoint.Restore(files, before.log, content, bounds); err == nil {
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
		u.memory = map[weak.Pointer[host.Session]]*remembered{}
	}
	if u.memory[key] == nil {
		runtime.AddCleanup(s, func(key weak.Pointer[host.Session]) {
			u.mu.Lock()
			defer u.mu.Unlock()
			delete(u.memory, key)
		}, key)
	}
	u.memory[key] = &remembered{recorder: r}
}

// remembered is what a session without a directory can undo.
type remembered struct {
	recorder *checkpoint.Recorder // while the session is awake
	log      checkpoint.Log       // and contents: of a session that sleeps
	contents map[string][]byte
}

// rest is the [host.Tied] of the dependencies of a session whose changes are remembered.
type rest struct {
	u   *undo
	key weak.Pointer[host.Session]
}

// Busy implements [host.Tied].
func (rest) Busy() bool { return false }

// Close implements [host.Tied].
func (r rest) Close(context.Context) error {
	r.u.rest(r.key)
	return nil
}

// rest lets go of the recorder of a session, and keeps what it knows. The files below a recorder
// know their session, which would never be forgotten.
func (u *undo) rest(key weak.Pointer[host.Session]) *remembered {
	u.mu.Lock()
	m := u.memory[key]
	u.mu.Unlock()
	if m == nil || m.recorder == nil {
		return m
	}
	kept := &remembered{log: m.recorder.Log(), contents: map[string][]byte{}}
	for i := range kept.log.Changes {
		c := &kept.log.Changes[i]
		for _, hash := range [2]string{c.Before.Hash, c.After.Hash} {
			if data, ok := m.recorder.Content(hash); ok {
				kept.contents[hash] = data
			}
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.memory[key] == m {
		u.memory[key] = kept
	}
	return kept
}
