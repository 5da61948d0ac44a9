// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
)

// A question about a call is also about what the agent has said of it before and does not say any more. What only adds is not that.
func TestQuestionsAreAlsoAboutWhatWasTakenBack(t *testing.T) {
	call := func(kind, input, locations, content string) string {
		return fmt.Sprintf(`"kind":%q,"rawInput":%s,"locations":[%s],"content":[%s]`, kind, input, locations, content)
	}
	at := func(paths ...string) string {
		for i := range paths {
			paths[i] = fmt.Sprintf(`{"path":%q}`, paths[i])
		}
		return strings.Join(paths, ",")
	}
	diff := func(path, now string) string {
		return fmt.Sprintf(`{"type":"diff","path":%q,"oldText":"a","newText":%q}`, path, now)
	}
	const words = `{"type":"content","content":{"type":"text","text":"words"}}`
	// what a person sees of a call: the previews and effects.
	seen := func(before []string, asks string) (n int) {
		s := begin(t, acpclient.Config{Permission: func(_ context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
			n = len(r.Approval.Preview) + len(r.Approval.Effects)
			return "", nil
		}}, func(a *raw) {
			a.open()
			a.turn(func() {
				for i, b := range before {
					a.update(fmt.Sprintf(`{"sessionUpdate":%q,"toolCallId":"c","title":"Look",%s}`, map[bool]string{true: "tool_call", false: "tool_call_update"}[i == 0], b))
				}
				a.ask(`{"toolCallId":"c","title":"Look",` + asks + `}`)
			})
			a.wait()
		})
		_, err := s.Say(t.Context(), "go")
		require.NoError(t, err)
		return n
	}
	for name, c := range map[string]struct {
		before, asks string
		back         bool
	}{
		"the same":                    {call("edit", `{"path":"/repo/a"}`, at("/repo/a"), diff("/repo/a", "b")), call("edit", `{"path":"/repo/a"}`, at("/repo/a"), diff("/repo/a", "b")), false},
		"an edit is a read now":       {call("edit", `{}`, at("/repo/a"), ""), call("read", `{}`, at("/repo/a"), ""), true},
		"a command is a search now":   {call("execute", `{}`, "", ""), call("search", `{}`, "", ""), true},
		"a deletion is a fetch now":   {call("delete", `{}`, at("/repo/a"), ""), call("fetch", `{}`, at("/repo/a"), ""), true},
		"a move is a thought now":     {call("move", `{}`, at("/repo/a"), ""), call("think", `{}`, at("/repo/a"), ""), true},
		"a read is an edit now":       {call("read", `{}`, at("/repo/a"), ""), call("edit", `{}`, at("/repo/a"), ""), false},
		"a read is a search now":      {call("read", `{}`, at("/repo/a"), ""), call("search", `{}`, at("/repo/a"), ""), false},
		"an input comes":              {call("edit", `{}`, "", ""), call("edit", `{"path":"/repo/a"}`, "", ""), false},
		"an input comes for null":     {call("edit", `null`, "", ""), call("edit", `{"path":"/repo/a"}`, "", ""), false},
		"an input changes":            {call("edit", `{"path":"/repo/b"}`, "", ""), call("edit", `{"path":"/repo/a"}`, "", ""), true},
		"an input goes":               {call("edit", `{"path":"/repo/b"}`, "", ""), call("edit", `{}`, "", ""), true},
		"a place is added":            {call("read", `{}`, at("/repo/a"), ""), call("read", `{}`, at("/repo/a", "/repo/b"), ""), false},
		"a place is another":          {call("read", `{}`, at("/repo/a"), ""), call("read", `{}`, at("/repo/b"), ""), true},
		"one of two places goes":      {call("read", `{}`, at("/repo/a", "/repo/b"), ""), call("read", `{}`, at("/repo/b"), ""), true},
		"a diff of the file":          {call("edit", `{}`, "", diff("/repo/a", "b")), call("edit", `{}`, "", diff("/repo/a", "c")), false},
		"a diff of another":           {call("edit", `{}`, "", diff("/repo/a", "b")), call("edit", `{}`, "", diff("/repo/b", "b")), true},
		"a diff goes":                 {call("edit", `{}`, "", diff("/repo/a", "b")), call("edit", `{}`, "", words), true},
		"words go":                    {call("edit", `{}`, "", words), call("edit", `{}`, "", diff("/repo/a", "b")), false},
		"a diff comes behind another": {call("edit", `{}`, "", diff("/repo/a", "b")), call("edit", `{}`, "", diff("/repo/b", "b")+","+diff("/repo/a", "b")), false},
	} {
		alone, after := seen(nil, c.asks), seen([]string{c.before}, c.asks)
		require.Equal(t, c.back, after > alone, "%s: %d and %d", name, alone, after)
		require.GreaterOrEqual(t, after, alone, name)
		require.Equal(t, alone, seen([]string{c.before, c.asks + `,"status":"completed"`}, c.asks), "%s: what has ended is not asked about", name)
	}
}
