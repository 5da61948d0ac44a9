// SPDX-License-Identifier: Apache-2.0

package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
)

type values = map[string]json.RawMessage

// two returns a store with the sessions "a" and "b", each with a title, values and two items, and
// the store below it.
func two(t *testing.T) (s session.Store, inner *session.Memory) {
	t.Helper()
	inner = new(session.Memory)
	s = encrypted(t, inner, "k")
	for _, id := range []string{"a", "b"} {
		text := json.RawMessage(`"` + id + `"`)
		_, err := s.Create(t.Context(), session.New{
			ID: id, Title: "title of " + id, Dir: "/repo", Owner: "ada",
			Values: values{"approvals": text, "mode": json.RawMessage(`"plan"`)},
		})
		require.NoError(t, err)
		for _, item := range []string{"1", "2"} {
			prompt := session.Item{ID: item, Kind: session.ItemPrompt, By: "by " + id, Data: text}
			_, err = s.Put(t.Context(), id, prompt)
			require.NoError(t, err)
		}
	}
	return s, inner
}

// read returns the texts of the items that can be read, and the items that cannot.
func read(t *testing.T, s session.Store, id string) (good, bad string) {
	t.Helper()
	for i, err := range s.Items(t.Context(), id, 0) {
		if err == nil {
			good += string(i.Data)
			continue
		}
		require.ErrorIs(t, err, session.ErrCorrupt)
		require.Empty(t, i.Data)
		var known *session.Error
		require.ErrorAs(t, err, &known)
		bad += known.Item
	}
	return good, bad
}

// TestCiphertextIsBoundToItsSession moves what belongs to one session to another one.
func TestCiphertextIsBoundToItsSession(t *testing.T) {
	for name, move := range map[string]func(m *session.Memory, a, b session.Info) error{
		"title": func(m *session.Memory, a, _ session.Info) error {
			_, err := m.Update(t.Context(), "b", session.Change{Title: &a.Title})
			return err
		},
		"value": func(m *session.Memory, a, _ session.Info) error {
			moved := values{"approvals": a.Values["approvals"]}
			_, err := m.Update(t.Context(), "b", session.Change{Values: moved})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, inner := two(t)
			a, err := inner.Get(t.Context(), "a")
			require.NoError(t, err)
			b, err := inner.Get(t.Context(), "b")
			require.NoError(t, err)
			require.NoError(t, move(inner, a, b))
			_, err = s.Get(t.Context(), "b")
			require.ErrorIs(t, err, session.ErrCorrupt)
			require.ErrorContains(t, err, name)
			_, err = s.Get(t.Context(), "a")
			require.NoError(t, err)

			page, err := s.List(t.Context(), session.Query{Owner: new("ada")})
			require.ErrorIs(t, err, session.ErrCorrupt)
			require.ErrorContains(t, err, "decrypt b")
			require.Len(t, page.Sessions, 2)
			for _, i := range page.Sessions {
				require.Equal(t, map[string]string{"a": "title of a", "b": ""}[i.ID], i.Title)
			}
			var file strings.Builder
			require.ErrorIs(t, session.Export(t.Context(), s, &file), session.ErrCorrupt)
			other, in := new(session.Memory), strings.NewReader(file.String())
			done, err := session.Import(t.Context(), other, in, session.ImportOptions{})
			require.NoError(t, err)
			require.Equal(t, []string{"a"}, done.Sessions, "the others are written")
			removed, err := session.Purge(t.Context(), s, session.Query{Owner: new("ada")})
			require.NoError(t, err)
			require.Len(t, removed.Removed, 2)
		})
	}
}

// TestDamagedItemIsAboutItselfAlone moves an item to another session.
func TestDamagedItemIsAboutItselfAlone(t *testing.T) {
	s, inner := two(t)
	for i, err := range inner.Items(t.Context(), "a", 0) {
		require.NoError(t, err)
		i.ID += " moved"
		_, err = inner.Put(t.Context(), "b", i)
		require.NoError(t, err)
	}
	note := session.Item{ID: "3", Kind: session.ItemNote, Data: json.RawMessage(`"note"`)}
	_, err := s.Put(t.Context(), "b", note)
	require.NoError(t, err)
	good, bad := read(t, s, "b")
	require.Equal(t, `"b""b""note"`, good)
	require.Equal(t, "1 moved2 moved", bad)
	var file strings.Builder
	err = session.Export(t.Context(), s, &file)
	require.ErrorIs(t, err, session.ErrCorrupt)
	require.ErrorContains(t, err, "moved")
	require.Equal(t, 3+2, strings.Count(file.String(), `"item"`), "the others are written")
}

// hurried is a store whose sessions get a title and a value just before they are forked.
type hurried struct{ *session.Memory }

func (l hurried) Fork(
	ctx context.Context, id string, at int64, n session.New,
) (session.Info, error) {
	s, err := session.Encrypted(l.Memory, ring("k"))
	if err == nil {
		late := session.Change{Title: new("late"), Values: values{"late": json.RawMessage(`1`)}}
		_, err = s.Update(ctx, id, late)
	}
	if err != nil {
		return session.Info{}, err
	}
	return l.Memory.Fork(ctx, id, at, n)
}

// TestForksAreEncryptedAnew has forks of forks, which have what their parents had.
func TestForksAreEncryptedAnew(t *testing.T) {
	s, inner := two(t)
	parent, err := inner.Get(t.Context(), "a")
	require.NoError(t, err)
	_, err = s.Fork(t.Context(), "a", 0, session.New{ID: "fork"})
	require.NoError(t, err)
	raw, err := inner.Get(t.Context(), "fork")
	require.NoError(t, err)
	require.Len(t, raw.Values, len(parent.Values))
	for name, v := range raw.Values {
		require.False(t, bytes.Equal(v, parent.Values[name]), name)
	}
	own := values{"mode": nil, "own": json.RawMessage(`2`)}
	made, err := s.Fork(t.Context(), "fork", 0, session.New{Values: own})
	require.NoError(t, err)
	require.NotEmpty(t, made.ID)
	got, err := s.Get(t.Context(), made.ID)
	require.NoError(t, err)
	require.Equal(t, "title of a, /repo, ada, fork",
		strings.Join([]string{got.Title, got.Dir, got.Owner, got.Parent}, ", "))
	text := json.RawMessage(`"a"`)
	require.Equal(t, values{"approvals": text, "own": json.RawMessage(`2`)}, got.Values)
	_, err = s.Fork(t.Context(), "none", 0, session.New{})
	require.ErrorIs(t, err, session.ErrNotFound)
	require.ErrorContains(t, err, "session: fork none: ")

	_, err = s.Update(t.Context(), "a", session.Change{Title: new("")})
	require.NoError(t, err)
	busy := encrypted(t, hurried{inner}, "k")
	_, err = busy.Fork(t.Context(), "a", 0, session.New{ID: "just before"})
	require.NoError(t, err)
	got, err = s.Get(t.Context(), "just before")
	require.NoError(t, err)
	require.Empty(t, got.Title)
	require.Equal(t, values{"approvals": text, "mode": json.RawMessage(`"plan"`)}, got.Values)
}
