// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/webbridge"
)

// texts are those of the user in a chat.
func (c *uiChat) texts() (all []string) {
	c.t.Helper()
	for _, m := range c.list() {
		if m["role"] == "user" {
			all = append(all, m["parts"].([]any)[0].(uiObject)["text"].(string))
		}
	}
	return all
}

// Clients make the ids of what the user says, so a message is found by the answer before it.
func TestMessageThatIsSentAgainTakesThePlaceOfTheOneBehindTheSameAnswer(t *testing.T) {
	for at, want := range [][]string{{"new"}, {"a", "new"}, {"a", "b", "new"}, {"a", "b", "c", "new"}} {
		c := uiServe(t, uiPaying(), webbridge.UIStreamOptions{}).chat("one")
		for _, text := range []string{"a", "b", "c"} {
			c.say(text)
			c.messages = c.list()
		}
		c.messages = append(c.messages[:2*at:2*at], uiObject{"id": "mine", "role": "user", "parts": []uiObject{{"type": "text", "text": "new"}}})
		c.send(uiObject{"trigger": "submit-message", "messageId": "mine"})
		require.Equal(t, want, c.texts(), "behind %d answers", at)
	}

	c := uiServe(t, uiPaying(), webbridge.UIStreamOptions{}).chat("one")
	c.say("a")
	c.messages = []uiObject{
		{"id": "x", "role": "user", "parts": []uiObject{{"type": "text", "text": "a"}}}, {"id": "nowhere", "role": "assistant", "parts": []uiObject{}},
		{"id": "mine", "role": "user", "parts": []uiObject{{"type": "text", "text": "new"}}},
	}
	status, text := c.get("POST", "/api/chat", uiObject{"id": "one", "messages": c.messages, "trigger": "regenerate-message"})
	require.Equal(t, 400, status)
	require.Contains(t, text, "cannot be found")
	require.Equal(t, []string{"a"}, c.texts())
}

func TestMessageIsSentAgainByItsOwnId(t *testing.T) {
	c := uiServe(t, uiPaying(), webbridge.UIStreamOptions{}).chat("one")
	for _, text := range []string{"a", "b", "c"} {
		c.say(text)
		c.messages = c.list()
	}
	answer := c.messages[3]["id"]
	c.messages = c.messages[:3] // the user's second message is the last
	c.send(uiObject{"trigger": "regenerate-message", "messageId": answer})
	require.Equal(t, []string{"a", "b"}, c.texts())
	c.messages = c.list()[:1]
	c.send(uiObject{"trigger": "regenerate-message"})
	require.Equal(t, []string{"a"}, c.texts())
}
