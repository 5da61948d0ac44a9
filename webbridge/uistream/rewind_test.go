// SPDX-License-Identifier: Apache-2.0

package uistream_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/webbridge/uistream"
)

// texts are those of the user in a chat.
func (c *chat) texts() (all []string) {
	c.t.Helper()
	for _, m := range c.list() {
		if m["role"] == "user" {
			all = append(all, m["parts"].([]any)[0].(object)["text"].(string))
		}
	}
	return all
}

// Clients make the ids of what the user says, so a message is found by the answer before it.
func TestMessageThatIsSentAgainTakesThePlaceOfTheOneBehindTheSameAnswer(t *testing.T) {
	for at, want := range [][]string{{"new"}, {"a", "new"}, {"a", "b", "new"}, {"a", "b", "c", "new"}} {
		c := serve(t, paying(), uistream.Options{}).chat("one")
		for _, text := range []string{"a", "b", "c"} {
			c.say(text)
			c.messages = c.list()
		}
		c.messages = append(c.messages[:2*at:2*at], object{"id": "mine", "role": "user", "parts": []object{{"type": "text", "text": "new"}}})
		c.send(object{"trigger": "submit-message", "messageId": "mine"})
		require.Equal(t, want, c.texts(), "behind %d answers", at)
	}

	c := serve(t, paying(), uistream.Options{}).chat("one")
	c.say("a")
	c.messages = []object{
		{"id": "x", "role": "user", "parts": []object{{"type": "text", "text": "a"}}}, {"id": "nowhere", "role": "assistant", "parts": []object{}},
		{"id": "mine", "role": "user", "parts": []object{{"type": "text", "text": "new"}}},
	}
	status, text := c.get("POST", "/api/chat", object{"id": "one", "messages": c.messages, "trigger": "regenerate-message"})
	require.Equal(t, 400, status)
	require.Contains(t, text, "cannot be found")
	require.Equal(t, []string{"a"}, c.texts())
}

func TestMessageIsSentAgainByItsOwnId(t *testing.T) {
	c := serve(t, paying(), uistream.Options{}).chat("one")
	for _, text := range []string{"a", "b", "c"} {
		c.say(text)
		c.messages = c.list()
	}
	answer := c.messages[3]["id"]
	c.messages = c.messages[:3] // the user's second message is the last
	c.send(object{"trigger": "regenerate-message", "messageId": answer})
	require.Equal(t, []string{"a", "b"}, c.texts())
	c.messages = c.list()[:1]
	c.send(object{"trigger": "regenerate-message"})
	require.Equal(t, []string{"a"}, c.texts())
}
