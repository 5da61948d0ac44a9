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
	require.Equal(t, "Message 3 is: x", say("a", "x"))
	require.Equal(t, "Message 4 is: ever", say("a", "ever"))
	require.Equal(t, "the body must be a prompt of at most 1 MiB\n", say("b", ""))
	require.Equal(t, "Message 2 is: "+strings.Repeat("x", 1<<20), say("b", strings.Repeat("x", 1<<20)))
	require.Equal(t, "the body must be a prompt of at most 1 MiB\n", say("b", strings.Repeat("x", 1<<20+1)))
	require.Equal(t, "Message 3 is: Hi", say("b", "Hi"), "what was refused is not part of it")
}
