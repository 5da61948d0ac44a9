// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

func put(t *testing.T, s session.Store, id string, i session.Item) session.Item {
	t.Helper()
	made, err := s.Put(t.Context(), id, i)
	require.NoError(t, err)
	return made
}

func waiting(t *testing.T, s session.Store, id string) []string {
	t.Helper()
	all, err := session.Waiting(t.Context(), s, id)
	require.NoError(t, err)
	var ids []string
	for _, i := range all {
		ids = append(ids, i.ID)
	}
	return ids
}

// TestWriterConsumes consumes items in batches that come at once: one that fails does not fail the others.
func TestWriterConsumes(t *testing.T) {
	m := new(session.Memory)
	_, err := m.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), m, "a", session.Claim{Holder: "me"})
	require.NoError(t, err)
	var refs []session.Ref
	for range 20 {
		i := put(t, m, "a", session.Item{Kind: session.ItemPrompt})
		refs = append(refs, i.Ref(), session.Ref{ID: i.ID, Version: 9})
	}
	var all sync.WaitGroup
	for _, r := range refs {
		all.Go(func() {
			_, err := w.Write(t.Context(), session.Batch{Entries: []session.Entry{{Kind: session.KindValue, Key: r.ID}}, Consumed: []session.Ref{r}})
			if r.Version == 1 {
				require.NoError(t, err)
			} else if err == nil || !strings.Contains(err.Error(), r.ID) {
				t.Errorf("another version is consumed: %v", err)
			}
		})
	}
	all.Wait()
	require.Empty(t, waiting(t, m, "a"))
	require.EqualValues(t, 20, w.Head())
	require.NoError(t, w.Close(t.Context()))
}

// TestExportHasInboxes moves items that wait and notes, in their order, but nothing that was consumed.
func TestExportHasInboxes(t *testing.T) {
	from, to := new(session.Memory), new(session.Memory)
	_, err := from.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), from, "a", session.Claim{Holder: "me"})
	require.NoError(t, err)
	gone := put(t, from, "a", session.Item{ID: "gone", Kind: session.ItemPrompt})
	put(t, from, "a", session.Item{ID: "2", Kind: session.ItemPrompt, By: "ada", Digest: "d", Data: []byte(`"two"`)})
	put(t, from, "a", session.Item{ID: "score", Kind: session.ItemNote, Data: []byte(`{"s":1}`)})
	put(t, from, "a", session.Item{ID: "3", Kind: session.ItemAnswer})
	_, err = w.Write(t.Context(), session.Batch{Entries: []session.Entry{{Kind: session.KindMessage, Data: []byte(`1`)}}, Consumed: []session.Ref{gone.Ref()}})
	require.NoError(t, err)
	var file bytes.Buffer
	require.NoError(t, session.Export(t.Context(), from, &file))
	done, err := session.Import(t.Context(), to, bytes.NewReader(file.Bytes()), session.ImportOptions{})
	require.NoError(t, err)
	require.Equal(t, []string{"a"}, done.Sessions)
	require.Equal(t, []string{"2", "3"}, waiting(t, to, "a"))
	for i, err := range to.Items(t.Context(), "a", 0) {
		require.NoError(t, err)
		for want := range from.Items(t.Context(), "a", 0) {
			if want.ID == i.ID {
				want.Pos, want.Rev = i.Pos, i.Rev
				require.Equal(t, want, i)
			}
		}
	}
	cut := strings.Replace(file.String(), `{"v":1,"session"`, `{"v":1,"item":{"id":"x","kind":"note"}}`+"\n"+`{"v":1,"session"`, 1)
	_, err = session.Import(t.Context(), new(session.Memory), strings.NewReader(cut), session.ImportOptions{})
	require.ErrorContains(t, err, "an item of no session")
	_, err = session.Import(t.Context(), new(session.Memory), strings.NewReader(file.String()+`{"v":1,"item":{"id":"x"}}`), session.ImportOptions{})
	require.ErrorContains(t, err, "no kind")
}

// TestItemsAreProcessed redacts items, whether they are put or changed.
func TestItemsAreProcessed(t *testing.T) {
	m := new(session.Memory)
	s := session.Processed(m, session.Strings(func(text string) string { return strings.ReplaceAll(text, "secret", "[key]") }))
	_, err := s.Create(t.Context(), session.New{ID: "a"})
	require.NoError(t, err)
	put(t, s, "a", session.Item{ID: "1", Kind: session.ItemPrompt, Data: []byte(`{"text":"a secret"}`)})
	read := func() string {
		for i, err := range m.Items(t.Context(), "a", 0) {
			require.NoError(t, err)
			return string(i.Data)
		}
		return ""
	}
	require.JSONEq(t, `{"text":"a [key]"}`, read())
	_, err = s.Change(t.Context(), "a", "1", 1, json.RawMessage(`{"text":"no secret"}`))
	require.NoError(t, err)
	require.JSONEq(t, `{"text":"no [key]"}`, read())
	_, err = s.Change(t.Context(), "a", "1", 2, nil)
	require.NoError(t, err)
	require.Empty(t, read())
}
