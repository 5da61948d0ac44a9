// SPDX-License-Identifier: Apache-2.0

//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Between opening a file and locking it somebody may have removed it. What is appended to it then would be lost.
func TestFileRemovedBeforeTheLockIsOpenedAgain(t *testing.T) {
	for name, interfere := range map[string]func(t *testing.T, path string){
		"removed": func(t *testing.T, path string) { require.NoError(t, os.Remove(path)) },
		"replaced": func(t *testing.T, path string) {
			require.NoError(t, os.WriteFile(path+".new", nil, 0o600))
			require.NoError(t, os.Rename(path+".new", path))
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "run.jsonl")
			var opened []*lockedFile
			file, err := lockedBy(path, func() (*lockedFile, error) {
				f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
				require.NoError(t, err)
				opened = append(opened, &lockedFile{File: f})
				if len(opened) == 1 {
					interfere(t, path)
				}
				return opened[len(opened)-1], nil
			})
			require.NoError(t, err)
			require.Len(t, opened, 2)
			require.Same(t, opened[1], file)
			require.ErrorIs(t, opened[0].Close(), os.ErrClosed)
			require.NoError(t, file.Close())
		})
	}
}

func TestFileThatCannotBeExaminedIsNotLocked(t *testing.T) {
	var file *lockedFile
	unlocked := 0
	_, err := lockedBy("run.jsonl", func() (*lockedFile, error) {
		f, err := os.Create(filepath.Join(t.TempDir(), "run.jsonl"))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		file = &lockedFile{File: f, unlock: func() { unlocked++ }}
		return file, nil
	})
	require.ErrorIs(t, err, os.ErrClosed)
	require.Equal(t, 1, unlocked)
}

func TestFileThatCannotBeOpenedIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none", "run.jsonl")
	_, err := locked(path, true)
	require.ErrorIs(t, err, fs.ErrNotExist)
	require.ErrorContains(t, err, path+": ")
	_, err = lockedBy(path, func() (*lockedFile, error) { return nil, errors.New("boom") })
	require.EqualError(t, err, path+": boom")
}

// By the second time the number of the file may be that of another one.
func TestClosedFileIsUnlockedOnce(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "run.jsonl"))
	require.NoError(t, err)
	unlocked := 0
	file := &lockedFile{File: f, unlock: func() { unlocked++ }}
	require.NoError(t, file.Close())
	require.ErrorIs(t, file.Close(), os.ErrClosed)
	require.Equal(t, 1, unlocked)
}
