// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
)

// A model keeps the sessions of its last sixteen conversations. An older one is closed, and told again if it goes on.
func TestModelsKeepSixteenSessions(t *testing.T) {
	var texts []string
	for range 19 {
		texts = append(texts, "ok")
	}
	m, s := modelOf(t, texts...)
	var all []*model.Message
	ask := func(messages ...*model.Message) *model.Message {
		resp, err := m.Generate(t.Context(), &model.Request{Messages: messages}, nil)
		require.NoError(t, err)
		return resp
	}
	for range 16 {
		all = append(all, ask(model.UserText("x")))
	}
	require.Empty(t, s.closed)
	all = append(all, ask(model.UserText("x")))
	require.Equal(t, []acp.SessionID{"s1"}, s.closed)
	ask(model.UserText("x"), all[1], model.UserText("more"))
	require.Equal(t, 17, s.sessions, "the second goes on in its session")
	require.Equal(t, "more", s.prompts[17])
	ask(model.UserText("x"), all[0], model.UserText("more"))
	require.Equal(t, 18, s.sessions)
	require.Equal(t, "This is the conversation so far.\n\nUser: x\n\nAssistant: ok\n\nContinue it.\n\nUser: more", s.prompts[18])
	require.Equal(t, []acp.SessionID{"s1", "s3"}, s.closed, "the oldest that has not been used since")
}

// Of an output over 1 MiB people see the first and the last 512 KiB, the end from a whole line on, and how much is left out.
func TestOutputsAreShownInPart(t *testing.T) {
	const half = 512 << 10
	x, y := strings.Repeat("x", half), strings.Repeat("y", half)
	left := func(bytes, lines string) string {
		return "\n[" + bytes + " bytes (" + lines + " lines) of the output are left out here.]\n"
	}
	for name, c := range map[string]struct{ text, want string }{
		"a byte more":            {x + "a" + y, x + left("1", "0") + y},
		"a line more":            {x + "a\n" + y, x + left("2", "1") + y},
		"an end with lines":      {x + "a" + "bc\nd\n" + y[:half-5], x + left("4", "1") + "d\n" + y[:half-5]},
		"a line in the middle":   {x + "a" + y[:half/2-1] + "\n" + y[:half/2], x + left("262145", "1") + y[:half/2]},
		"a line behind it":       {x + "a" + y[:half/2] + "\n" + y[:half/2-1], x + left("1", "0") + y[:half/2] + "\n" + y[:half/2-1]},
		"a character on the cut": {x[:half-1] + "é" + y, x[:half-1] + "\uFFFD" + left("1", "0") + y},
	} {
		got := shownOf(t, c.text, 16<<20).Text()
		require.Equal(t, len(c.want), len(got), name)
		require.True(t, c.want == got, "%s: %q", name, got[max(0, half-20):min(len(got), half+120)])
	}
}
