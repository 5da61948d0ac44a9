// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent/session"
)

// Compact rewrites the database without deleted data, which shrinks the files and leaves none of
// that data in them. It also removes media files left by a killed process. Other writers wait
// meanwhile. If somebody reads the database for too long, Compact fails with [session.ErrBusy], and
// something may be left. It needs free disk space of the size of the database. Backups that were
// made before a migration are left alone.
func (s *Store) Compact(ctx context.Context) error {
	err := s.do(ctx, "compact", "", false, func(q *queries) error { return q.removeOrphans() })
	if err != nil {
		return err
	}
	return s.submit("compact", "", &op{ctx: ctx, alone: true, done: make(chan struct{}), do: func(q *queries) error {
		if err := s.patiently(ctx, func() error { return q.exec("VACUUM") }); err != nil {
			return err
		}
		return s.patiently(ctx, func() error { // a reader keeps it from what was there before
			var busy, log, moved int
			err := q.row("PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &log, &moved)
			if err == nil && busy != 0 {
				err = session.ErrBusy
			}
			return err
		})
	}})
}

// removeOrphans removes the files in media that no entry needs. It keeps young temporary files,
// which may be in use.
func (q *queries) removeOrphans() error {
	dir := filepath.Join(q.store.dir, "media")
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), "new-") {
			if info, err := f.Info(); err == nil && time.Since(info.ModTime()) > time.Hour {
				if err := os.Remove(filepath.Join(dir, f.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
					return err
				}
			}
			continue
		}
		var needed int
		if err := q.row("SELECT count(*) FROM media WHERE hash = ?", f.Name()).Scan(&needed); err != nil {
			return err
		}
		if needed == 0 {
			if err := os.Remove(filepath.Join(dir, f.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
