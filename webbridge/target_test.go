// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// TestMessagesThatAreSentAgainMeanPrompts has what pages send when a message is sent anew or an answer is regenerated, and the prompt
// that this means in a session with three of them. A message is its id, with the first letter of its role.
func TestMessagesThatAreSentAgainMeanPrompts(t *testing.T) {
	var f view.Fold
	for _, id := range []string{"prompt:1", "message:1/1", "steer:1", "prompt:2", "message:2/1", "prompt:3", "message:3/1"} {
		e := view.Entity{ID: id, Kind: view.Message, Role: view.User}
		if strings.HasPrefix(id, "message") {
			e.Role = view.Assistant
		}
		put(t, &f, e)
	}
	full := f.Snapshot()
	empty := new(view.Fold).Snapshot()
	unknown := func(id string) string {
		return fmt.Sprintf("webbridge: invalid: the message %q cannot be found: begin with the messages that the chat has, see …/messages", id)
	}
	for _, c := range []struct {
		messages, more string
		want           string
	}{
		{"u:prompt:2", "", "prompt:2"}, {"u:prompt:3", "", "prompt:3"}, {"a:answer:2 u:prompt:1", "", "prompt:1"},
		{"a:answer:1 u:m", "", "prompt:2"}, {"u:x a:answer:1 u:m", "", "prompt:2"}, {"u:x a:answer:2 u:m", "", "prompt:3"}, {"a:answer:3 u:m", "", ""},
		{"a:answer:1 a:answer:2 u:m", "", "prompt:3"}, {"a:answer:1 a:answer:9 u:m", "", "prompt:2"}, {"a:answer:9 a:answer:1 u:m", "", "prompt:2"}, {"a:answer:1 s:x u:m", "", "prompt:2"},
		{"a:answer:1 u:x u:m", "", "prompt:2"}, {"u:answer:2 a:answer:1 u:m", "", "prompt:2"},
		{"a:answer:9 u:m", "", unknown("m")}, {"a:answer: u:m", "", unknown("m")}, {"a:own u:m", "", unknown("m")}, {"u:x a:own u:m", "", unknown("m")},
		{"u:m", "", "prompt:1"}, {"u:x u:m", "", "prompt:1"}, {"u:steer:1", "", "prompt:1"}, {"u:message:2/1", "", "prompt:1"}, {"a:answer:1 u:steer:1", "", "prompt:2"},
		{"u:m", `"trigger":"regenerate-message","messageId":"answer:2",`, "prompt:2"}, {"u:prompt:3", `"trigger":"regenerate-message","messageId":"answer:2",`, "prompt:2"},
		{"u:prompt:3", `"trigger":"regenerate-message","messageId":"answer:9",`, "prompt:3"}, {"u:prompt:3", `"trigger":"regenerate-message","messageId":"answer:",`, "prompt:3"},
		{"u:prompt:3", `"trigger":"regenerate-message","messageId":"prompt:2",`, "prompt:3"}, {"u:prompt:3", `"trigger":"submit-message","messageId":"answer:2",`, "prompt:3"},
	} {
		var messages []string
		for _, m := range strings.Fields(c.messages) {
			role, id, _ := strings.Cut(m, ":")
			role = map[string]string{"u": "user", "a": "assistant", "s": "system"}[role]
			messages = append(messages, fmt.Sprintf(`{"id":%q,"role":%q}`, id, role))
		}
		body := `{"id":"c",` + c.more + `"messages":[` + strings.Join(messages, ",") + `]}`
		got, err := webbridge.TargetOf(body, full)
		if err != nil {
			got = err.Error()
		}
		require.Equal(t, c.want, got, "%s %s", c.messages, c.more)
		if !strings.Contains(c.messages, "a:") {
			got, err = webbridge.TargetOf(body, empty)
			require.NoError(t, err)
			require.Empty(t, got, "a session without prompts has none")
		}
	}
	got, err := webbridge.TargetOf(`{"id":"c","message":{"id":"prompt:2","role":"user"}}`, full)
	require.NoError(t, err)
	require.Equal(t, "prompt:2", got)
}
