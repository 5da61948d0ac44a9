// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	sessions "github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/app/internal/stores"
)

// Place is where sessions are kept. Its address may have a password, so it has no method that
// returns it.
type Place = stores.Place

// RegisterStore has the flag -store accept addresses with a scheme, such as "postgres". open must
// not put passwords into its errors. The empty scheme is for directories, which package sqlite
// below this one registers. It is called by init functions, and panics if a scheme is taken.
func RegisterStore(scheme string, open func(ctx context.Context, address string) (sessions.Store, error)) {
	stores.Register(scheme, open)
}

// notKept begins what is said of a session that is not kept.
const notKept = "this session is kept in memory and ends with the connection"

// Store returns the store of the sessions, which is opened when it is needed. It is nil if sessions
// are kept in memory.
func (e *Env) Store(ctx context.Context) (sessions.Store, error) {
	e.storing.Lock()
	defer e.storing.Unlock()
	if e.stored {
		return e.store, nil
	}
	if *e.noStore && *e.storeAt != "" {
		return nil, Usage("-store and -no-store: use one of them")
	}
	if at, _ := e.encryption(); at != "" && e.openStore != nil {
		return nil, Usage("-encrypt: the program has a store of its own")
	}
	switch {
	case *e.noStore:
	case e.openStore != nil:
		store, err := e.openStore(ctx, e)
		if err != nil {
			return nil, err
		}
		e.store = store
	case *e.storeAt == "" && !stores.Directories(): // no store is linked
	default:
		place, err := e.placeOf(*e.storeAt)
		if err != nil && *e.storeAt != "" {
			return nil, &ExitError{exitUsage, err}
		}
		if err != nil {
			e.Say("%v; continuing without a store: sessions end with the connection", err)
			break
		}
		e.place = &place
		open := func(ctx context.Context) (sessions.Store, func() error, error) {
			return e.openPlace(ctx, place)
		}
		tell := func(err error) { e.Say("%s: %v", notKept, err) }
		e.store = newStore(e.Name, open, e.localDir(place), tell)
	}
	e.stored = true
	return e.store, nil
}

// Beside returns the directory of what this machine keeps of a session besides the store, such as
// the changes of files that can be undone. It is removed with the session. It is empty if the
// session does not outlive the program. The directory need not exist.
func (e *Env) Beside(session string) string {
	e.storing.Lock()
	lazy, ok := e.store.(*lazyStore)
	e.storing.Unlock()
	if !ok {
		return ""
	}
	return lazy.beside(session)
}

// placeOf returns the place that -store names, or the default.
func (e *Env) placeOf(given string) (stores.Place, error) {
	if given == "" {
		state, err := e.StateDir()
		if err != nil {
			return stores.Place{}, err
		}
		given = filepath.Join(state, "sessions")
	}
	return stores.At(given)
}

// StateDir returns the directory of what the program keeps for itself, such as sessions and logs.
// It need not exist.
func (e *Env) StateDir() (string, error) {
	if dir := e.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the specification has other values ignored
		return filepath.Join(dir, e.Name), nil
	}
	if dir := e.Getenv("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, e.Name), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no directory for sessions: %w: use -store DIR", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", e.Name), nil
	}
	return filepath.Join(home, ".local", "state", e.Name), nil
}

// localDir returns the directory of what this machine keeps beside the sessions of a place, empty
// if there is none.
func (e *Env) localDir(p stores.Place) string {
	if dir := p.Dir(); dir != "" {
		return dir
	}
	state, err := e.StateDir()
	if err != nil {
		return ""
	}
	return filepath.Join(state, "databases", p.Key(e.Getenv))
}
