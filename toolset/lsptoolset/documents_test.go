// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// A server has the present text of its documents: it is told of what has changed, and of nothing
// else. Files whose version is known are not read again, unless an editor may have other text.
func TestServersHaveThePresentText(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newDisk(t, map[string]string{"a.toy": "a\n", "b.toy": "b\n", "sub/c.toy": "c\n", "d.txt": "d\n"})
		w.blind = true
		l, p := newPeer(t, "fake", nil)
		sync := func(want []string, uses string, paths ...string) []*document {
			t.Helper()
			docs, err := l.sync(t.Context(), w, paths...)
			require.NoError(t, err)
			require.Equal(t, want, p.heard())
			require.Equal(t, uses, strings.Join(w.uses(), ", "))
			require.Equal(t, len(paths), len(docs))
			require.Empty(t, l.syncing)
			return docs
		}
		time.Sleep(time.Hour)
		began := time.Now()
		docs := sync([]string{opened("b.toy", "b\n"), opened("a.toy", "a\n")}, "open b.toy, open a.toy", "b.toy", "/project/a.toy")
		require.Equal(t, []string{"b.toy", "a.toy"}, names(docs))
		require.Equal(t, []string{"/project/b.toy", "/project/a.toy"}, l.recent)
		require.Equal(t, began, l.stirred, "the first document makes a server look at the project")
		info, err := w.Workspace.Stat(t.Context(), "b.toy")
		require.NoError(t, err)
		require.Equal(t, &document{
			at: workspace.Location{Path: "/project/b.toy", Name: "b.toy"}, uri: "file:///project/b.toy", version: 1,
			text: lsp.NewText("b\n", lsp.EndsCR), found: info.Version, sent: began,
		}, docs[0])
		time.Sleep(time.Second)
		again := sync(nil, "stat b.toy, stat a.toy", "b.toy")
		require.Same(t, docs[0], again[0])
		require.Equal(t, []string{"/project/a.toy", "/project/b.toy"}, l.recent, "the last one was used last")
		sync([]string{opened("sub/c.toy", "c\n")}, "open sub/c.toy, stat a.toy, stat b.toy", "sub/c.toy")
		require.Equal(t, began, l.stirred)
		require.Equal(t, []string{"/project/a.toy", "/project/b.toy", "/project/sub/c.toy"}, l.recent)

		w.put(t, "a.toy", "a2\n")
		w.put(t, "b.toy", "b2\n")
		time.Sleep(time.Second)
		sent := time.Now()
		docs = sync([]string{changed("b.toy", 2, "b2\n"), saved("b.toy"), changed("a.toy", 2, "a2\n"), saved("a.toy")},
			"stat b.toy, open b.toy, stat a.toy, open a.toy, stat sub/c.toy", "b.toy")
		info, err = w.Workspace.Stat(t.Context(), "b.toy")
		require.NoError(t, err)
		require.Equal(t, &document{
			at: workspace.Location{Path: "/project/b.toy", Name: "b.toy"}, uri: "file:///project/b.toy", version: 2,
			text: lsp.NewText("b2\n", lsp.EndsCR), found: info.Version, sent: sent,
		}, docs[0])
		require.Same(t, docs[0], l.docs["/project/b.toy"])
		w.put(t, "b.toy", "b2\n")
		sync(nil, "stat b.toy, open b.toy, stat a.toy, stat sub/c.toy", "b.toy")
		sync(nil, "stat b.toy, stat a.toy, stat sub/c.toy", "b.toy")

		w.unsaved = true
		w.put(t, "b.toy", "b3\n")
		sync([]string{changed("b.toy", 3, "b3\n"), saved("b.toy")}, "open b.toy, open a.toy, open sub/c.toy", "b.toy")
		w.unsaved = false

		w.put(t, "a.toy")
		sync([]string{closed("a.toy")}, "stat a.toy, open a.toy, stat sub/c.toy, stat b.toy")
		require.Equal(t, []string{"/project/sub/c.toy", "/project/b.toy"}, l.recent)
		require.Len(t, l.docs, 2)
		w.put(t, "sub/c.toy", "\x00\xff")
		sync([]string{closed("sub/c.toy")}, "stat sub/c.toy, open sub/c.toy, stat b.toy")
		w.put(t, "a.toy", "a3\n")
		sync([]string{opened("a.toy", "a3\n")}, "open a.toy, stat b.toy", "a.toy")

		for _, ends := range []lsp.LineEnds{lsp.EndsLF, lsp.EndsCR} {
			l.guest.server.ends = ends
			w.put(t, "ends.toy", fmt.Sprint("x\ry", ends))
			docs, err := l.sync(t.Context(), w, "ends.toy")
			require.NoError(t, err)
			require.Equal(t, lsp.NewText(fmt.Sprint("x\ry", ends), ends).Lines(), docs[0].text.Lines())
		}
	})
}

// A file that cannot be read, or a connection that ends, is an error of the call that names it.
// Other documents that cannot be read are closed, unless nothing can be.
func TestDocumentsThatCannotBeRead(t *testing.T) {
	because := errors.New("because")
	for name, c := range map[string]struct {
		fails func(use string) error
		paths []string
		want  error
		heard []string
		left  string
	}{
		"a file that is named":        {func(use string) error { return map[string]error{"open c.toy": because}[use] }, []string{"c.toy"}, because, nil, "a.toy b.toy"},
		"one of several":              {func(use string) error { return map[string]error{"open d.toy": because}[use] }, []string{"c.toy", "d.toy"}, because, []string{opened("c.toy", "c\n")}, "a.toy b.toy c.toy"},
		"a missing one":               {nil, []string{"none.toy"}, fs.ErrNotExist, nil, "a.toy b.toy"},
		"no text":                     {nil, []string{"bin.toy"}, errNotText, nil, "a.toy b.toy"},
		"one outside":                 {nil, []string{"/etc/x.toy"}, workspace.ErrOutside, nil, "a.toy b.toy"},
		"one that has changed":        {func(use string) error { return map[string]error{"stat a.toy": because, "open a.toy": because}[use] }, []string{"a.toy"}, because, nil, "a.toy b.toy"},
		"one whose version is hidden": {func(use string) error { return map[string]error{"stat a.toy": because}[use] }, []string{"a.toy"}, nil, nil, "b.toy a.toy"},
		"another one":                 {func(use string) error { return map[string]error{"stat a.toy": because, "open a.toy": because}[use] }, []string{"b.toy"}, nil, []string{closed("a.toy")}, "b.toy"},
		"another one, and all are lost": {
			func(use string) error {
				return map[string]error{"stat a.toy": because, "open a.toy": workspace.ErrLost}[use]
			}, []string{"b.toy"}, workspace.ErrLost, nil, "a.toy b.toy",
		},
		"another one, and the server is gone": {
			func(use string) error {
				return map[string]error{"stat a.toy": because, "open a.toy": lsp.ErrClosed}[use]
			}, []string{"b.toy"}, lsp.ErrClosed, nil, "a.toy b.toy",
		},
	} {
		bubble(t, func(t *testing.T) {
			w := newDisk(t, map[string]string{"a.toy": "a\n", "b.toy": "b\n", "c.toy": "c\n", "d.toy": "d\n", "bin.toy": "\x00\xff"})
			w.blind = true
			l, p := newPeer(t, "fake", nil)
			_, err := l.sync(t.Context(), w, "a.toy", "b.toy")
			require.NoError(t, err)
			p.heard()
			w.fails = c.fails
			docs, err := l.sync(t.Context(), w, c.paths...)
			if c.want != nil {
				require.ErrorIs(t, err, c.want, name)
				require.Nil(t, docs, name)
			} else {
				require.NoError(t, err, name)
				require.Equal(t, c.paths, names(docs))
			}
			require.Equal(t, c.heard, p.heard(), name)
			var left []string
			for _, path := range l.recent {
				left = append(left, l.docs[path].at.Name)
			}
			require.Equal(t, c.left, strings.Join(left, " "), name)
			require.Len(t, l.docs, len(left), name)
			require.Empty(t, l.syncing, "others may send documents again")
		})
	}
	bubble(t, func(t *testing.T) {
		w := newDisk(t, map[string]string{"a.toy": "a\n"})
		l, _ := newPeer(t, "fake", nil)
		ctx, cancel := context.WithCancelCause(t.Context())
		l.syncing <- struct{}{}
		time.AfterFunc(time.Second, func() { cancel(because) })
		_, err := l.sync(ctx, w, "a.toy")
		require.Equal(t, because, err, "a call that waits for another ends with its context")
		require.Len(t, l.syncing, 1)
		<-l.syncing
		w.blind = true
		_, err = l.sync(t.Context(), w, "a.toy")
		require.NoError(t, err)
		w.fails = func(use string) error { return because }
		_, err = l.sync(ctx, w)
		require.Equal(t, because, err, "nothing is closed for a call that has ended")
		require.Len(t, l.docs, 1)
	})
}

// When a connection has ended, nothing that a server is told counts as told.
func TestDocumentsOfAConnectionThatHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		change func(t *testing.T, w *disk)
		path   []string
	}{
		"a new document":          {func(*testing.T, *disk) {}, []string{"b.toy"}},
		"a document with changes": {func(t *testing.T, w *disk) { w.put(t, "a.toy", "a2\n") }, []string{"a.toy"}},
		"another with changes":    {func(t *testing.T, w *disk) { w.put(t, "a.toy", "a2\n") }, nil},
		"one that is gone":        {func(t *testing.T, w *disk) { w.put(t, "a.toy") }, nil},
	} {
		bubble(t, func(t *testing.T) {
			w := newDisk(t, map[string]string{"a.toy": "a\n", "b.toy": "b\n"})
			w.blind = true
			l, _ := newPeer(t, "fake", nil)
			docs, err := l.sync(t.Context(), w, "a.toy")
			require.NoError(t, err)
			synctest.Wait()
			because := errors.New("because")
			l.conn.End(because)
			c.change(t, w)
			_, err = l.sync(t.Context(), w, c.path...)
			require.ErrorIs(t, err, because, name)
			require.ErrorIs(t, err, lsp.ErrClosed, name)
			if name != "one that is gone" {
				require.Same(t, docs[0], l.docs["/project/a.toy"], name)
				require.Len(t, l.docs, 1, name)
				require.Len(t, l.recent, 1, name)
				require.EqualValues(t, 1, docs[0].version, name)
			}
		})
	}
}

// Sixty-four documents are open, or as many as a call needs at once; those are closed that were not
// used for longest.
func TestDocumentsAreClosedAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		files := map[string]string{}
		var all []string
		for i := range 70 {
			name := fmt.Sprintf("f%02d.toy", i)
			files[name], all = "x\n", append(all, name)
		}
		w := newDisk(t, files)
		w.blind = true
		l, p := newPeer(t, "fake", nil)
		for _, name := range all[:64] {
			_, err := l.sync(t.Context(), w, name)
			require.NoError(t, err)
		}
		require.Len(t, p.heard(), 64)
		_, err := l.sync(t.Context(), w, all[0])
		require.NoError(t, err)
		require.Empty(t, p.heard())
		_, err = l.sync(t.Context(), w, all[64])
		require.NoError(t, err)
		require.Equal(t, []string{opened("f64.toy", "x\n"), closed("f01.toy")}, p.heard())
		require.Len(t, l.docs, 64)
		docs, err := l.sync(t.Context(), w, all[:66]...)
		require.NoError(t, err)
		require.Len(t, docs, 66)
		require.Equal(t, []string{opened("f01.toy", "x\n"), opened("f65.toy", "x\n")}, p.heard())
		require.Len(t, l.docs, 66)
		_, err = l.sync(t.Context(), w)
		require.NoError(t, err)
		require.Equal(t, []string{closed("f00.toy"), closed("f01.toy")}, p.heard())
		require.Len(t, l.recent, 64)
	})
}
