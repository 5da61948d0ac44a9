// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Compact rewrites the database without what was deleted, so that the files shrink and nothing of it is left in them. It also removes media
// files that a killed process has left. Other writers wait meanwhile. It takes as much room on the disk again as the database has.
// Backups that were made before a migration are left alone.
func (s *Store) Compact(ctx context.Context) error {
	err := s.do(ctx, "compact", "", false, func(q *queries) error { return q.removeOrphans() })
	if err != nil {
		return err
	}
	return s.submit("compact", "", &op{ctx: ctx, alone: true, done: make(chan struct{}), do: func(q *queries) error {
		return s.patiently(ctx, func() error {
			if err := q.exec("VACUUM"); err != nil {
				return err
			}
			return q.rows(func(*sql.Rows) error { return nil }, "PRAGMA wal_checkpoint(TRUNCATE)")
		})
	}})
}

// removeOrphans removes the files in media that no entry needs. Temporary files that are young may be somebody's.
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
