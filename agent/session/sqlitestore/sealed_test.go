// SPDX-License-Identifier: Apache-2.0

package sqlitestore_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/sessiontest"
	"github.com/ponte-go/ponte/agent/session/sqlitestore"
	"github.com/ponte-go/ponte/internal/sealtest"
)

// found returns which secrets are in the files below a directory.
func found(t *testing.T, dir string, secrets []string) (all []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		all = append(all, sealtest.Find(secrets, append(data, path...))...)
		return err
	}))
	return all
}

// TestNoSecretIsInTheFilesOfAnEncryptedStore looks at the files while a turn runs, as a kill would leave them, and after the end.
func TestNoSecretIsInTheFilesOfAnEncryptedStore(t *testing.T) {
	for name, sealed := range map[string]bool{"encrypted": true, "plain": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			inner, err := sqlitestore.Open(dir, sqlitestore.Options{})
			require.NoError(t, err)
			defer func() { // after the host is closed
				require.NoError(t, inner.Close())
			}()
			store := session.Store(inner)
			if sealed {
				store, err = session.Encrypted(inner, sealtest.Ring())
				require.NoError(t, err)
			}
			var secrets []string
			t.Run("conversations", func(t *testing.T) {
				secrets = sealtest.Converse(t, store)
				if sealed {
					require.Empty(t, found(t, dir, secrets))
				} else {
					require.Greater(t, len(found(t, dir, secrets)), 40, "the search finds what is there")
				}
			})
			if sealed {
				require.Empty(t, found(t, dir, secrets))
				require.NoError(t, store.(session.Compacter).Compact(t.Context()))
				require.Empty(t, found(t, dir, secrets))
			}
		})
	}
}

func TestEncryptedConformance(t *testing.T) {
	sessiontest.Run(t, func(t *testing.T) *sessiontest.Target {
		dir := t.TempDir()
		var opened []*sqlitestore.Store
		return &sessiontest.Target{
			Larger: true,
			Open: func() (session.Store, error) {
				s, err := sqlitestore.Open(dir, sqlitestore.Options{})
				if err != nil {
					return nil, err
				}
				opened = append(opened, s)
				return session.Encrypted(s, sealtest.Ring())
			},
			Close: func() {
				for _, s := range opened {
					require.NoError(t, s.Close())
				}
			},
		}
	})
}
