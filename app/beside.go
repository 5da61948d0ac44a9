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
	"strings"
	"time"

	sessions "github.com/ponte-go/ponte/agent/session"
)

// besideDir returns the directory of what /undo needs of a session, in a directory of this machine.
func besideDir(store, id string) string {
	other := func(r rune) bool {
		return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
	}
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, other) { // such as one from an import; file systems may not tell a from A
		sum := sha256.Sum256([]byte(id))
		id = "id-" + hex.EncodeToString(sum[:])
	}
	return filepath.Join(store, "undo", id)
}

// forgetBeside removes what /undo needs of sessions that have been removed.
func forgetBeside(store string, removed ...sessions.Info) error {
	if store == "" {
		return nil
	}
	for _, info := range removed {
		if err := os.RemoveAll(besideDir(store, info.ID)); err != nil {
			return fmt.Errorf("the session %s is removed, but not what /undo has of it: %w", info.ID, err)
		}
	}
	return nil
}

// gone is how old what /undo needs of a session has to be for it to be removed because the store
// has no such session. A store that is empty for a day, such as while a backup is restored, is not
// the reason to forget it.
const gone = 30 * 24 * time.Hour

// forgetGone removes what /undo needs of sessions that another program has removed, on this machine
// or another one.
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
		if err != nil || time.Since(info.ModTime()) < gone || besideDir(local, dir.Name()) != filepath.Join(local, "undo", dir.Name()) {
			continue // it is in use, or its name is not the session's
		}
		if _, err := store.Get(ctx, dir.Name()); errors.Is(err, sessions.ErrNotFound) {
			_ = os.RemoveAll(filepath.Join(local, "undo", dir.Name())) // the next time, if not now
		}
	}
}
