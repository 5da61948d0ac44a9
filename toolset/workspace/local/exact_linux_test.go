// SPDX-License-Identifier: Apache-2.0

package local

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// aged describes a file that was changed and written at certain times.
type aged struct {
	fs.FileInfo
	changed, written time.Time
}

func (a aged) Sys() any {
	return &syscall.Stat_t{Ino: 0xab, Ctim: syscall.NsecToTimespec(a.changed.UnixNano())}
}
func (a aged) ModTime() time.Time { return a.written }
func (a aged) Size() int64        { return 0x10 }

// A file has a stamp once neither it nor its contents have changed for two and a half seconds.
func TestFilesHaveStampsAfterTwoAndAHalfSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const settles = 2500 * time.Millisecond
		now := time.Now()
		for _, c := range []struct {
			changed, written time.Duration
			want             bool
		}{
			{settles, settles, true}, {settles - 1, settles, false}, {settles, settles - 1, false}, {time.Hour, time.Hour, true},
			{-time.Hour, time.Hour, false}, {time.Hour, -time.Hour, false},
		} {
			file := aged{changed: now.Add(-c.changed), written: now.Add(-c.written)}
			stamp, ok := stampOf(file)
			require.Equal(t, c.want, ok, "%+v", c)
			if ok {
				want := fmt.Sprintf("sab-10-%x-%x", file.written.UnixNano(), file.changed.UnixNano())
				require.Equal(t, workspace.Version(want), stamp)
			}
		}
	})
}

// New directories and files have the modes that the umask leaves of 0755 and 0644, also where it
// leaves all.
func TestModesWithoutAUmask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0))
	w, root := filesOnly(t, "r/")
	_, err := w.Write(t.Context(), "new/dir/f", nil, "")
	require.NoError(t, err)
	for name, want := range map[string]fs.FileMode{"new": 0o755, "new/dir": 0o755, "new/dir/f": 0o644} {
		info, err := os.Stat(filepath.Join(root, "r", name))
		require.NoError(t, err)
		require.Equal(t, want, info.Mode().Perm(), name)
	}
}

// A path leads through forty links, as it does for the system.
func TestPathsLeadThroughFortyLinks(t *testing.T) {
	w, root := filesOnly(t, "r/f")
	for i := range 41 {
		target := "f"
		if i > 0 {
			target = fmt.Sprint("l", i)
		}
		require.NoError(t, os.Symlink(target, filepath.Join(root, "r", fmt.Sprint("l", i+1))))
	}
	_, err := w.find(t.Context(), "l40", true)
	require.NoError(t, err)
	_, err = os.Stat(filepath.Join(root, "r", "l40"))
	require.NoError(t, err)
	_, err = w.find(t.Context(), "l41", true)
	require.ErrorIs(t, err, errTooManyLinks)
	_, err = os.Stat(filepath.Join(root, "r", "l41"))
	require.Error(t, err)
	p, err := w.find(t.Context(), "l41", false)
	require.NoError(t, err, "the link itself is there")
	require.Equal(t, "l41", p.rel)
}
