// SPDX-License-Identifier: Apache-2.0

package sqlitestore

import (
	"bytes"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/ponte-go/ponte/agent/session"
)

// Long strings in the data of an entry, such as images, are cut out and kept in files, and the row
// records where they belong. This keeps the database small and fast, and stores shared strings
// once.

// longString is the least length of a string that is cut out, in bytes between its quotes.
const longString = 128 << 10

// hole is a place in data from which a string was cut out.
type hole struct {
	// At is the place in what is left of the data, Hash the SHA-256 of the string.
	At   int    `json:"at"`
	Hash string `json:"hash"`
}

// cutEntry is the data of an entry in the form in which it is kept.
type cutEntry struct {
	data  []byte
	holes any // the JSON of the holes, or nil
	files []mediaFile
}

// mediaFile is a string that was written to a temporary file.
type mediaFile struct{ hash, temp string }

func (s *Store) mediaPath(hash string) string { return filepath.Join(s.dir, "media", hash) }

// cut cuts long strings out of the data of entries, and writes them to temporary files.
func (s *Store) cut(entries []session.Entry) ([]cutEntry, error) {
	made := make([]cutEntry, len(entries))
	for i := range entries {
		c := &made[i]
		c.data = entries[i].Data
		if len(c.data) < longString {
			continue
		}
		parts := longStrings(c.data)
		if len(parts) == 0 {
			continue
		}
		var holes []hole
		var rest []byte
		end := 0
		for _, p := range parts {
			rest = append(rest, c.data[end:p[0]]...)
			end = p[1]
			text := c.data[p[0]:p[1]]
			hash := fmt.Sprintf("%x", sha256.Sum256(text))
			holes = append(holes, hole{len(rest), hash})
			file, err := s.writeTemp(hash, text)
			if err != nil {
				s.discard(made)
				return nil, err
			}
			c.files = append(c.files, file)
		}
		c.data = append(rest, c.data[end:]...)
		text, err := json.Marshal(holes)
		if err != nil {
			s.discard(made)
			return nil, err
		}
		c.holes = string(text)
	}
	return made, nil
}

// longStrings returns where long strings of a JSON document begin and end, without their quotes.
func longStrings(data []byte) (found [][2]int) {
	for i := 0; i < len(data); i++ {
		if data[i] != '"' {
			continue
		}
		begin := i + 1
		for i = begin; i < len(data) && data[i] != '"'; i++ {
			if data[i] == '\\' {
				i++
			}
		}
		if i-begin >= longString {
			found = append(found, [2]int{begin, min(i, len(data))})
		}
	}
	return found
}

// writeTemp writes a string to a file and syncs it. If there is a file with the string already, it
// may be removed any time, so it is looked for again in the transaction.
func (s *Store) writeTemp(hash string, text []byte) (mediaFile, error) {
	f, err := os.CreateTemp(filepath.Join(s.dir, "media"), "new-*")
	if err != nil {
		return mediaFile{}, err
	}
	_, err = f.Write(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return mediaFile{}, errors.Join(err, os.Remove(f.Name()))
	}
	return mediaFile{hash, f.Name()}, nil
}

// discard removes the temporary files that are left.
func (s *Store) discard(cut []cutEntry) {
	for i := range cut {
		for _, f := range cut[i].files {
			_ = os.Remove(f.temp) // it is gone if the entry was appended
		}
	}
}

// keepMedia gives the files of an entry their names, and notes who needs them.
func (q *queries) keepMedia(num, seq int64, c *cutEntry) error {
	for _, f := range c.files {
		err := os.Rename(f.temp, q.store.mediaPath(f.hash))
		if errors.Is(err, fs.ErrNotExist) { // an earlier try has renamed it
			_, err = os.Stat(q.store.mediaPath(f.hash))
		}
		if err != nil {
			return err
		}
		if err := q.exec("INSERT OR IGNORE INTO media (hash, session, seq) VALUES (?, ?, ?)", f.hash, num, seq); err != nil {
			return err
		}
	}
	if len(c.files) == 0 {
		return nil
	}
	return syncDir(filepath.Join(q.store.dir, "media"))
}

// dropMedia records that the files of entries about to be removed may be unused.
func (q *queries) dropMedia(which string, args ...any) error {
	if err := q.exec("INSERT OR IGNORE INTO garbage SELECT hash FROM media WHERE "+which, args...); err != nil {
		return err
	}
	n, err := q.count("DELETE FROM media WHERE "+which, args...)
	q.garbage = q.garbage || n > 0
	return err
}

// sweep removes unused files. It does so within a transaction, during which no entry can begin to
// use one.
func (w *batcher) sweep() {
	if w.begin(nil) != nil {
		return // the next one will try again
	}
	err := w.q.sweep()
	if err == nil {
		err = w.q.exec("COMMIT")
	}
	if err != nil {
		_ = w.q.exec("ROLLBACK")
	}
}

func (q *queries) sweep() error {
	var hashes []string
	err := q.rows(func(rows *sql.Rows) error {
		var hash string
		err := rows.Scan(&hash)
		hashes = append(hashes, hash)
		return err
	}, "SELECT hash FROM garbage WHERE NOT EXISTS (SELECT 1 FROM media WHERE media.hash = garbage.hash)")
	for _, hash := range hashes {
		if removeErr := os.Remove(q.store.mediaPath(hash)); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
	}
	if err != nil {
		return err
	}
	return q.exec("DELETE FROM garbage")
}

// fill puts what was cut out of an entry back.
func (s *Store) fill(e *stored) error {
	if !e.media.Valid {
		return nil
	}
	var holes []hole
	if err := json.Unmarshal([]byte(e.media.String), &holes); err != nil {
		return err
	}
	var full bytes.Buffer
	end := 0
	for _, h := range holes {
		if h.At < end || h.At > len(e.Data) || len(h.Hash) != 64 || slices.ContainsFunc([]byte(h.Hash), func(b byte) bool { return !('0' <= b && b <= '9' || 'a' <= b && b <= 'f') }) {
			return errors.New("the list of its media is wrong")
		}
		text, err := os.ReadFile(s.mediaPath(h.Hash))
		if err != nil {
			return err
		}
		full.Write(e.Data[end:h.At])
		full.Write(text)
		end = h.At
	}
	full.Write(e.Data[end:])
	e.Data = full.Bytes()
	return nil
}
