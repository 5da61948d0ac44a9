// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestConversationsAreKeptApart(t *testing.T) {
	s, err := newServer(t.Context(), "")
	require.NoError(t, err)
	say := func(conversation, prompt string) string {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest("POST", "/chat?conversation="+conversation, strings.NewReader(prompt)))
		return w.Body.String()
	}
	require.Equal(t, "Message 1 is: Hello", say("a", "Hello"))
	require.Equal(t, "Message 2 is: again", say("a", "again"))
	require.Equal(t, "Message 1 is: Hi", say("b", "Hi"))
	require.Contains(t, say("b", ""), "must be a prompt")
}
