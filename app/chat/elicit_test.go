// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/chat"
)

func TestFormsAreFilledIn(t *testing.T) {
	p := newPerson(t)
	p.Prompt = "form"
	wait := p.start(t)
	code := p.code(t)
	require.Contains(t, p.out.String(), "The agent asks: Where⟨U+202E⟩ to?")
	require.Contains(t, p.out.String(), "City\n")
	p.enter(t, "1 "+code)
	p.out.waitFor(t, "  City\n  (text)\n  › ")
	p.enter(t, "bergen")
	p.out.waitFor(t, "! City must match ^[A-Z]")
	p.enter(t, "Bergen")
	p.out.waitFor(t, "(yes or no; nothing for no)")
	p.enter(t, "")
	require.Equal(t, chat.ExitOK, wait(), p.errors.String())
	require.Contains(t, p.out.String(), `[{"city":"Bergen","rain":false}]`)
}

func TestFormsAreDeclined(t *testing.T) {
	p := newPerson(t)
	p.Prompt = "form"
	wait := p.start(t)
	p.enter(t, "2 "+p.code(t))
	require.Equal(t, chat.ExitOK, wait(), "nothing was refused")
	require.Contains(t, p.out.String(), "[declined]")
}

func TestAddressesAreShown(t *testing.T) {
	p := newPerson(t)
	p.Prompt = "visit"
	wait := p.start(t)
	code := p.code(t)
	require.Contains(t, p.out.String(), "https://example.com/login?a=b⟨U+202E⟩")
	p.enter(t, "1 "+code)
	require.Equal(t, chat.ExitOK, wait())
	require.Contains(t, p.out.String(), "[accepted]")
}

// Without a person the agent is not told that it may ask.
func TestFormsNeedAPerson(t *testing.T) {
	p := newPerson(t)
	p.Person, p.Prompt = false, "form"
	require.Equal(t, chat.ExitOK, p.start(t)())
	require.Contains(t, p.out.String(), "ethod not found")
}

func TestSessionsAreListedAndOpened(t *testing.T) {
	p := newPerson(t)
	wait := p.start(t)
	p.out.waitFor(t, "› ")
	p.enter(t, "say one")
	p.out.waitFor(t, "[one]")
	p.enter(t, "/sessions 1")
	p.out.waitFor(t, "/sessions alone lists them, with numbers")
	p.enter(t, "/sessions")
	p.out.waitFor(t, "1 2026-01-02 ")
	p.out.waitFor(t, "an old⟨U+202E⟩ one")
	p.enter(t, "/sessions 1")
	p.out.waitFor(t, "what was said")
	p.enter(t, "/new")
	p.out.waitFor(t, "A new conversation.")
	p.enter(t, "say two")
	p.out.waitFor(t, "[two]")
	p.types.Close()
	require.Equal(t, chat.ExitOK, wait(), p.errors.String())
	require.Equal(t, 1, strings.Count(p.out.String(), "A new conversation."))
}
