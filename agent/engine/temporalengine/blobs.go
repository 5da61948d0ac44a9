// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/internal/wholefile"
)

// Blobs keeps data by the hash of the data. All workers and clients of a run need the same blobs, for as long as Temporal keeps the workflow.
// Package agent/session/pgstore has them in Postgres, beside the sessions.
type Blobs = session.Blobs

// ErrNoBlob means that data that a workflow refers to is not there.
var ErrNoBlob = session.ErrNoBlob

// errChanged means that data is not what was put there.
var errChanged = errors.New("temporalengine: a blob was changed")

// keyOf returns the key of data.
func keyOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// get returns the data of a key after verifying it against the key.
func get(ctx context.Context, b Blobs, key string) ([]byte, error) {
	data, err := b.Get(ctx, key)
	if err == nil && keyOf(data) != key {
		err = fmt.Errorf("%w: %s", errChanged, key)
	}
	return data, err
}

// MemoryBlobs are blobs in memory, for tests. The zero value is empty and ready to use.
type MemoryBlobs struct{ data sync.Map }

// Put implements [Blobs].
func (m *MemoryBlobs) Put(ctx context.Context, key string, data []byte) error {
	m.data.LoadOrStore(key, string(data))
	return context.Cause(ctx)
}

// Get implements [Blobs].
func (m *MemoryBlobs) Get(ctx context.Context, key string) ([]byte, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	data, ok := m.data.Load(key)
	if !ok {
		return nil, fmt.Errorf("%w: %s", ErrNoBlob, key)
	}
	return []byte(data.(string)), nil
}

// DirBlobs are blobs in a directory, which may be on a file system that the machines share. Only their owner can read the files.
type DirBlobs struct {
	// Dir is the directory. It is made if it does not exist.
	Dir string
}

func (d DirBlobs) path(key string) (string, error) {
	if len(key) != 64 || strings.Trim(key, "0123456789abcdef") != "" {
		return "", fmt.Errorf("temporalengine: %.80q is not the key of a blob", key)
	}
	return filepath.Join(d.Dir, key[:2], key), nil
}

// Put implements [Blobs].
func (d DirBlobs) Put(ctx context.Context, key string, data []byte) error {
	path, err := d.path(key)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if info, err := os.Stat(path); err == nil {
		if time.Since(info.ModTime()) < justPut { // perhaps whoever puts it has not synced the directory yet
			return syncDir(dir)
		}
		return nil
	}
	if err := makeDir(dir); err != nil {
		return err
	}
	if err := wholefile.Write(path, data, 0o600); err != nil {
		return err
	}
	return syncDir(dir)
}

// justPut is how long a blob may be there before its directory is synced.
const justPut = 10 * time.Second

// makeDir makes a directory that lasts, with those around it.
func makeDir(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	if around := filepath.Dir(path); around != path {
		if err := makeDir(around); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes it last that a file was made. It is a variable for tests.
var syncDir = func(path string) error {
	if runtime.GOOS == "windows" { // the system keeps its directories itself
		return nil
	}
	d, err := os.Open(path)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) { // so some file systems say that they do the same
		err = nil
	}
	return errors.Join(err, d.Close())
}

// Get implements [Blobs].
func (d DirBlobs) Get(ctx context.Context, key string) ([]byte, error) {
	path, err := d.path(key)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %s", ErrNoBlob, key)
	}
	return data, err
}
