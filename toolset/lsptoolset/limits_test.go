// SPDX-License-Identifier: Apache-2.0

package lsptoolset

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/lsp"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// What went wrong is told in as many bytes as there is room for: the whole of it if it fits.
func TestReasonsAreAsLongAsThereIsRoom(t *testing.T) {
	v := &project{roots: []string{"/repo"}, real: []string{"/repo"}}
	c := &call{view: v, tool: "x"}
	ctx := t.Context()
	outside := func(text string) string {
		_, err := v.locate("file:///" + text[1:])
		return err.Error()
	}
	for name, e := range map[string]struct {
		room   int
		before string
		after  string
		say    func(text string) string
	}{
		"a change":         {300, "", "", func(text string) string { return c.whyNot(errors.New(text)) }},
		"a failure":        {1000, "failed: ", "", func(text string) string { return c.failed(ctx, errors.New(text)).Error() }},
		"a plan":           {500, "failed: Nothing was changed: ", ".", func(text string) string { return c.unplanned(ctx, errors.New(text)).Error() }},
		"a file elsewhere": {500, "outside of the project: ", "", outside},
		"an answer": {500, "failed: The language server answered with an error: ", "", func(text string) string {
			return c.failed(ctx, &lsp.ResponseError{Code: 1, Message: text}).Error()
		}},
	} {
		fits := "/" + strings.Repeat("w", e.room-1)
		require.Equal(t, e.before+fits+e.after, e.say(fits), name)
		require.Equal(t, e.before+fits[:e.room-3]+"…"+e.after, e.say(fits+"w"), name)
	}
}

// The files of an edit may have 64 MiB together.
func TestFilesOfAnEditAreBounded(t *testing.T) {
	for size, want := range map[int]string{
		64<<20 - 3: "", 64<<20 - 2: "the edit is of files of more than 64 MiB",
	} {
		w := newDisk(t, map[string]string{"a": "abc", "b": ""})
		c := &call{ws: w, session: workspace.NewSession(w), view: &project{roots: []string{"/project"}}}
		p := &planner{call: c, files: map[string]*batchFile{}, size: size}
		for _, name := range []string{"a", "b"} {
			at, err := workspace.LocateIn(w, name)
			require.NoError(t, err)
			if _, err = p.load(t.Context(), at); want != "" {
				require.EqualError(t, err, want, name)
				break
			}
			require.NoError(t, err, name)
		}
	}
}

// unmoved is a workspace that does not get on with a change until a context ends.
type unmoved struct{ workspace.Workspace }

func (unmoved) ApplyChange(ctx context.Context, _ string, _ workspace.Change) (*workspace.Document, error) {
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

// Changes are taken back for ten seconds, also if the call has ended. What is not is told.
func TestChangesAreTakenBackForTenSeconds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newDisk(t, map[string]string{"a": "new"})
		c := &call{ws: unmoved{w}, session: workspace.NewSession(w), view: &project{roots: []string{"/project"}}}
		at, err := workspace.LocateIn(w, "a")
		require.NoError(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		began := time.Now()
		file := &batchFile{at: at, old: []byte("old"), new: []byte("new")}
		require.Equal(t, []string{"a"}, c.undo(ctx, []done{{file: file, doc: &workspace.Document{}}}))
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}
