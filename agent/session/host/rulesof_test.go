// SPDX-License-Identifier: Apache-2.0

package host_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
)

// The rules of layers are listed with their origins. Those that a layer takes back can be taken back by their number, the others not, and are said to
// be from where they are.
func TestRulesOfLayersAreListedAndTakenBack(t *testing.T) {
	dropped, failure := 0, error(nil)
	s := create(t, newHost(t, host.Config[none, string]{
		Agent: newAgent(echo()), Commands: host.BuiltIns(nil),
		Layers: func(none) []approval.Layer {
			return []approval.Layer{{Name: "silent"}, {Name: "the company", Rules: func() []approval.LayerRule {
				return []approval.LayerRule{{Text: "allow `ls`"}, {Text: "deny rm", Origin: "rules\n.txt", Drop: func() error { dropped++; return failure }}}
			}}}
		},
	}))
	told := func(text string) string {
		t.Helper()
		require.NoError(t, prompt(t, s, text).Err)
		snapshot, _, err := s.Snapshot(t.Context())
		require.NoError(t, err)
		return snapshot.Last(view.Message).Text()
	}
	const end = "\nWhat other programs execute or obey is asked about every time."
	list := "1. `` allow 'ls' `` (the company)\n2. `` deny rm `` (rules⟨LF⟩.txt)\n\nTo take one back: `/permissions remove NUMBER`.\n" + end
	require.Equal(t, list, told("/permissions"))
	require.Equal(t, list, told("/permissions  "))
	const use = "Use `/permissions`, or `/permissions remove NUMBER` with a number of the list."
	for _, wrong := range []string{"/permissions remove", "/permissions remove 0", "/permissions remove 3", "/permissions remove x", "/permissions drop 1", "/permissions remove -1"} {
		require.Equal(t, use, told(wrong), wrong)
	}
	require.Equal(t, "This rule cannot be taken back here: it is from the company.", told("/permissions remove 1"))
	require.Zero(t, dropped)
	require.Equal(t, "Taken back: `` deny rm ``.", told("/permissions remove  2 "))
	require.Equal(t, 1, dropped)

	all, err := s.Permissions()
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []bool{false, true}, []bool{all[0].Removable, all[1].Removable})
	require.Equal(t, []string{"the company", "rules\n.txt"}, []string{all[0].Origin, all[1].Origin})
	require.Len(t, all[0].ID, 16)
	require.NotEqual(t, all[0].ID, all[1].ID)
	require.ErrorIs(t, s.DropPermission(t.Context(), all[0].ID), host.ErrNoPermission)
	require.NoError(t, s.DropPermission(t.Context(), all[1].ID))
	require.Equal(t, 2, dropped)
	failure = errors.New("the file is gone")
	require.ErrorIs(t, s.DropPermission(t.Context(), all[1].ID), failure)
	require.Contains(t, told("/permissions remove 2"), "the file is gone")
}

// A session that was closed shows nothing, does nothing, and says so.
func TestClosedSessionsSayThatTheyAreClosed(t *testing.T) {
	h := newHost(t, host.Config[none, string]{Agent: newAgent(echo()), Modes: host.Modes()})
	s := create(t, h)
	seen := ""
	require.NoError(t, prompt(t, s, "Hello").Err)
	require.NoError(t, s.View(t.Context(), func(f *view.Fold) { seen = f.Snapshot().Last(view.Message).Text() }))
	require.Equal(t, "I Hello", seen)
	require.NoError(t, s.Close(t.Context()))
	for name, do := range map[string]func() error{
		"view":     func() error { return s.View(t.Context(), func(*view.Fold) { t.Error("it is shown") }) },
		"snapshot": func() error { _, _, err := s.Snapshot(t.Context()); return err },
		"follow":   func() error { _, err := s.Follow(t.Context(), ""); return err },
		"prompt":   func() error { _, err := s.Prompt(t.Context(), say("Hello")); return err },
		"set":      func() error { _, err := s.Set(t.Context(), host.SettingMode, "plan"); return err },
		"title":    func() error { return s.SetTitle(t.Context(), "Title") },
		"drop":     func() error { return s.DropPermission(t.Context(), "x") },
	} {
		require.ErrorIs(t, do(), host.ErrClosed, name)
	}
	require.NoError(t, s.Close(t.Context()), "once more")
	require.Nil(t, h.Session(s.ID()))
}
