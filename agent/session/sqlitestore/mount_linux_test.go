// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
)

// mount returns the directory of a small file system.
func mount(t *testing.T, size int) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprint("size=", size)); err != nil {
		t.Skipf("a file system of its own is needed, which takes the rights to mount one: %v", err)
	}
	t.Cleanup(func() { require.NoError(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}

func TestFullDiskLosesNothing(t *testing.T) {
	for _, size := range []int{1000, 200 << 10} { // in rows, and in files
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			disk := mount(t, 4<<20)
			ballast := filepath.Join(disk, "ballast")
			require.NoError(t, os.WriteFile(ballast, make([]byte, 1<<20), 0o600))
			dir := filepath.Join(disk, "store")
			s := store(t, dir)
			_, err := s.Create(t.Context(), session.New{ID: "s"})
			require.NoError(t, err)
			w, err := session.Open(t.Context(), s, "s", session.Claim{})
			require.NoError(t, err)
			written := 0
			for err == nil {
				if _, err = w.Append(t.Context(), value(fmt.Sprintf("%d %s", written, strings.Repeat("x", size)))); err == nil {
					written++
				}
				require.Less(t, written, 10_000)
			}
			require.ErrorIs(t, err, session.ErrFull)
			good, damaged, _ := count(t, s, "s")
			require.Equal(t, written, good, "what was acknowledged is there")
			require.Zero(t, damaged)
			_, err = w.Append(t.Context(), value(strings.Repeat("x", size)))
			require.ErrorIs(t, err, session.ErrFull)

			require.NoError(t, os.Remove(ballast))
			_, err = w.Append(t.Context(), value("after"))
			require.NoError(t, err, "it goes on when there is room")
			require.NoError(t, w.Close(t.Context()))
			require.NoError(t, s.Close())
			good, _, _ = count(t, store(t, dir), "s")
			require.Equal(t, written+1, good)
			check(t, dir)
		})
	}
}

func TestFullDiskHasNoRoomForStore(t *testing.T) {
	disk := mount(t, 64<<10)
	_ = os.WriteFile(filepath.Join(disk, "ballast"), make([]byte, 64<<10), 0o600)
	_, err := sqlitestore.Open(filepath.Join(disk, "store"), sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrFull)
}

func TestReadOnlyDirectoryIsNamed(t *testing.T) {
	disk := mount(t, 4<<20)
	dir := filepath.Join(disk, "store")
	s := store(t, dir)
	fill(t, s, 1, 3)
	require.NoError(t, s.Close())
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, ""))
	_, err := sqlitestore.Open(dir, sqlitestore.Options{})
	require.ErrorIs(t, err, session.ErrReadOnly)
	require.ErrorContains(t, err, dir)
	require.NoError(t, syscall.Mount("tmpfs", disk, "tmpfs", syscall.MS_REMOUNT, ""))
	good, _, _ := count(t, store(t, dir), "s0")
	require.Equal(t, 3, good)
}
