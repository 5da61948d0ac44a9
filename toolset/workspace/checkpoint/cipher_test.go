// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func TestKeptFilesAreEncrypted(t *testing.T) {
	work, dir := t.TempDir(), filepath.Join(t.TempDir(), "kept")
	files, err := local.Open(local.Config{Roots: []string{work}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	ring, err := session.Keyring{}.Rotated("old")
	require.NoError(t, err)
	keep := func(r *session.Keyring) (*checkpoint.Recorder, error) {
		var c *checkpoint.Cipher
		if r != nil {
			c = &checkpoint.Cipher{Seal: r.Seal, Open: r.Open, Hide: r.Hide}
		}
		return checkpoint.Keep(files, dir, checkpoint.Options{Cipher: c, Problem: func(err error) { t.Error(err) }})
	}
	write := func(r *checkpoint.Recorder, text string) {
		r.Mark("turn of " + text)
		_, err := r.Write(t.Context(), "a-secret.txt", []byte(text), workspace.AnyVersion)
		require.NoError(t, err)
	}
	r, err := keep(&ring)
	require.NoError(t, err)
	write(r, "secret one")
	ring, err = ring.Rotated("new")
	require.NoError(t, err)
	r, err = keep(&ring)
	require.NoError(t, err)
	write(r, "secret two")
	kept := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		kept++
		data, err := os.ReadFile(path)
		require.False(t, bytes.Contains(data, []byte("secret")), path)
		return err
	}))
	require.Equal(t, 3, kept, "the log and two contents")

	other, err := session.Keyring{}.Rotated("other")
	require.NoError(t, err)
	for _, c := range []*session.Keyring{&other, nil} {
		_, err = keep(c)
		require.ErrorIs(t, err, checkpoint.ErrLog)
	}
	r, err = keep(&ring)
	require.NoError(t, err)
	_, err = r.Undo(t.Context(), checkpoint.Only(2))
	require.NoError(t, err)
	data, err := os.ReadFile(filepath.Join(work, "a-secret.txt"))
	require.NoError(t, err)
	require.Equal(t, "secret one", string(data))
}
