// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// events are the changes of files that a server was told of, sorted: "a.toy 1".
func events(t *testing.T, lines []string) (all []string) {
	t.Helper()
	for _, line := range lines {
		params, ok := strings.CutPrefix(line, "workspace/didChangeWatchedFiles ")
		require.True(t, ok, line)
		var p struct {
			Changes []struct {
				URI  string
				Type int
			}
		}
		require.NoError(t, json.Unmarshal([]byte(params), &p))
		for _, e := range p.Changes {
			all = append(all, fmt.Sprintf("%s %d", strings.TrimPrefix(e.URI, "ROOT/"), e.Type))
		}
	}
	slices.Sort(all)
	return all
}

// Changes of files by others are told to all servers that run. The project is looked at a tenth of a
// second after the last time, or twenty times as long as it took.
func TestServersAreToldOfFilesInTime(t *testing.T) {
	const ms = time.Millisecond
	bubble(t, func(t *testing.T) {
		w := newDisk(t, map[string]string{"a.toy": "a\n", "b.toy": "b\n", "go.sum": "x\n", "c.txt": "c\n", ".clangd": "x\n"})
		l, p := newPeer(t, "fake", nil)
		v := l.guest.view
		told := func() []string {
			v.rescan(t.Context(), w, nil)
			return events(t, p.heard())
		}
		require.Empty(t, told(), "what is there at first is not new")
		for name, text := range map[string]string{
			"a.toy": "changed\n", "new.toy": "n\n", "sub/UPPER.TOY": "n\n", "go.sum": "changed\n", "c.txt": "changed\n", "new.txt": "n\n", ".clangd": "changed\n",
			"sub/Cargo.lock": "n\n", "node_modules/x.toy": "n\n", "node_modules.toy": "n\n", ".git/x.toy": "n\n", "sub/node_modules/x.toy": "n\n", ".toy": "n\n",
		} {
			w.put(t, name, text)
		}
		w.put(t, "b.toy")
		require.Empty(t, told(), "it was looked at just now")
		time.Sleep(100*ms - 1)
		require.Empty(t, told())
		time.Sleep(time.Nanosecond)
		grown := time.Now()
		require.Equal(t, []string{".clangd 2", ".toy 1", "a.toy 2", "b.toy 3", "go.sum 2", "new.toy 1", "node_modules.toy 1", "sub/Cargo.lock 1", "sub/UPPER.TOY 1"}, told())
		require.Equal(t, grown, l.grown)
		require.Equal(t, map[string]int{".toy": 5}, v.scan.count)

		w.walks = func() { time.Sleep(50 * ms) }
		time.Sleep(100 * ms)
		require.Empty(t, told(), "nothing has changed")
		require.Equal(t, grown, l.grown)
		w.put(t, "a.toy", "again\n")
		time.Sleep(1000*ms - 1)
		require.Empty(t, told())
		time.Sleep(time.Nanosecond)
		require.Equal(t, []string{"a.toy 2"}, told(), "it is looked at for a twentieth of the time")
		require.Equal(t, grown, l.grown, "the server knows which files there are")
		w.walks = nil

		w.put(t, "a.toy", "and again\n")
		v.stale()
		require.Equal(t, []string{"a.toy 2"}, told(), "after a change by this program it is looked at with the next request")
		w.blind = true
		w.put(t, "a.toy", "unseen\n")
		v.stale()
		require.Empty(t, told(), "a workspace whose files cannot be listed is not looked at")
		w.blind = false
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		v.rescan(ctx, w, nil)
		require.Empty(t, p.heard())
		require.Equal(t, []string{"a.toy 2"}, told(), "a list that was not finished tells nothing")
	})
}

// A server is not told of changes of files whose text it has, unless they are new or gone.
func TestServersAreNotToldOfTheirDocuments(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newDisk(t, map[string]string{"a.toy": "a\n", "b.toy": "b\n", "c.toy": "c\n"})
		l, p := newPeer(t, "gopls", nil)
		_, err := l.sync(t.Context(), w, "a.toy", "b.toy")
		require.NoError(t, err)
		p.heard()
		w.put(t, "a.toy", "a2\n")
		time.Sleep(time.Second)
		_, err = l.sync(t.Context(), w)
		require.NoError(t, err)
		require.Equal(t, []string{changed("a.toy", 2, "a2\n")}, p.heard())
		w.put(t, "a.toy", "a3\n")
		w.put(t, "b.toy")
		w.put(t, "c.toy", "c3\n")
		time.Sleep(time.Second)
		_, err = l.sync(t.Context(), w)
		require.NoError(t, err)
		heard := p.heard()
		require.Equal(t, []string{"b.toy 3", "c.toy 2"}, events(t, heard[:1]))
		require.Equal(t, []string{changed("a.toy", 3, "a3\n"), closed("b.toy")}, heard[1:])
		require.Equal(t, time.Now(), l.grown)
		w.put(t, "a.toy", "a4\n")
		v := l.guest.view
		v.stale()
		v.rescan(t.Context(), w, nil)
		require.Equal(t, []string{"a.toy 2"}, events(t, p.heard()), "another server's call leaves out nothing")

		// A server that has ended hears nothing.
		l.conn.End(fs.ErrClosed)
		w.put(t, "c.toy", "c5\n")
		v.stale()
		v.rescan(t.Context(), w, nil)
		require.Empty(t, p.heard())
	})
}

// endless is a workspace with a number of files.
type endless struct {
	*disk
	n int
}

func (w *endless) Walk(_ context.Context, dir string, _ workspace.WalkOptions) iter.Seq2[workspace.Info, error] {
	return func(yield func(workspace.Info, error) bool) {
		for i := range w.n {
			var err error
			if i == 0 {
				err = fs.ErrPermission
			}
			info := workspace.Info{Path: fmt.Sprintf("%s/f%d.toy", dir, i), Mode: 0o644, Version: "1"}
			if i == 1 {
				info.Mode = fs.ModeDir
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// Of a project, fifty thousand entries are looked at.
func TestProjectsAreLookedAtInPart(t *testing.T) {
	for n, want := range map[int]int{100: 98, 50_000: 49_998, 50_001: 49_998} {
		v := &project{pool: &Servers{config: Config{Servers: []Server{{Files: map[string]string{".toy": "toy"}}}}}, roots: []string{"/project"}}
		files, count, ok := v.list(t.Context(), &endless{newDisk(t, nil), n})
		require.True(t, ok)
		require.Len(t, files, want, "entries that cannot be read, and directories, are no files")
		require.Equal(t, map[string]int{".toy": want}, count)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, ok = v.list(ctx, &endless{newDisk(t, nil), n})
		require.False(t, ok)
	}
}

// The languages of a project are those with a tenth of the files of the main one, or whose server
// runs.
func TestLanguagesOfAProject(t *testing.T) {
	here := "/bin/sh"
	for name, c := range map[string]struct {
		count          map[string]int
		found, missing string
	}{
		"nothing":              {nil, "", ""},
		"one":                  {map[string]int{".a": 1}, "a", ""},
		"two":                  {map[string]int{".a": 1, ".b": 10}, "a b", ""},
		"few files of one":     {map[string]int{".a": 1, ".b": 11}, "b", ""},
		"two of a language":    {map[string]int{".a": 1, ".a2": 1, ".b": 20}, "a b", ""},
		"most of two":          {map[string]int{".a": 10, ".a2": 10, ".b": 1}, "a", ""},
		"no server for it":     {map[string]int{".z": 5}, "", ""},
		"a missing server":     {map[string]int{".m": 5}, "", "m"},
		"a missing one, too":   {map[string]int{".m": 5, ".a": 5}, "a", "m"},
		"few of a missing one": {map[string]int{".m": 1, ".a": 11}, "a", ""},
		"few, but it runs":     {map[string]int{".r": 1, ".a": 100}, "a r", ""},
		"none, but it runs":    {map[string]int{".a": 100}, "a", ""},
	} {
		bubble(t, func(t *testing.T) {
			l, _ := newPeer(t, "r", nil)
			v := l.guest.view
			v.pool.config.Servers = []Server{
				{Name: "a", Command: []string{here}, Files: map[string]string{".a": "a", ".a2": "a"}}, {Name: "b", Command: []string{here}, Files: map[string]string{".b": "b"}},
				{Name: "m", Command: []string{"/none"}, Files: map[string]string{".m": "m"}}, {Name: "r", Command: []string{here}, Files: map[string]string{".r": "r"}},
			}
			v.scan.count, v.scan.next = c.count, time.Now().Add(time.Hour)
			found, missing := v.languages(t.Context(), newDisk(t, nil))
			require.Equal(t, c.found, serverNames(found), name)
			require.Equal(t, c.missing, serverNames(missing), name)
		})
	}
}

func serverNames(all []*Server) string {
	var names []string
	for _, s := range all {
		names = append(names, s.Name)
	}
	return strings.Join(names, " ")
}

// A server of the project is the first one that is installed, or else could be.
func TestServersOfFiles(t *testing.T) {
	toy := map[string]string{".toy": "toy"}
	pool := &Servers{config: Config{Servers: []Server{
		{Name: "other", Command: []string{"/bin/sh"}, Files: map[string]string{".x": "x"}},
		{Name: "one", Command: []string{"/none"}, Files: toy}, {Name: "two", Command: []string{"/none"}, Files: toy},
		{Name: "three", Command: []string{"/bin/sh"}, Files: toy}, {Name: "four", Command: []string{"/bin/sh"}, Files: toy},
	}}}
	found, missing := pool.forFile("/project/A.TOY")
	require.Equal(t, "three", found.Name)
	require.Nil(t, missing)
	pool.config.Servers = pool.config.Servers[:3]
	found, missing = pool.forFile("/project/a.toy")
	require.Nil(t, found)
	require.Equal(t, "one", missing.Name)
	found, missing = pool.forFile("/project/toy")
	require.Nil(t, found)
	require.Nil(t, missing)
}
