// SPDX-License-Identifier: Apache-2.0

package chat_test

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/internal/term/tty"
)

// A form is filled in field by field, an answer that does not fit is asked for again, and addresses are declined.
func TestFormsOnAScreen(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("form; visit; say done", "\r")
	screen.waitFor(t, "The agent asks: Where⟨U+202E⟩ to?")
	screen.answer(t, "y", "Enter answers, Ctrl-C cancels")
	screen.types("\x15", "bergen", "\r")
	screen.waitFor(t, "! City must match ^[A-Z]")
	mark := screen.mark()
	screen.types("Bergen", "\r")
	screen.waitAfter(t, mark, "(yes or no; nothing for no)")
	screen.types("yes", "\r")
	screen.waitFor(t, `[{"city":"Bergen","rain":true}]`)
	screen.waitFor(t, "https://example.com/login?a=b⟨U+202E⟩")
	screen.answer(t, "n", "[declined]")
	screen.waitFor(t, "[done]")
	screen.types("\x15")
	screen.leaves(t, wait)
}

// A question of a form, and a field of it, go with the turn that they belong to.
func TestFormsEndWithTheirTurn(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("form", "\r")
	screen.waitFor(t, "The agent asks: Where")
	screen.types("\x03")
	screen.waitNow(t, "! Cancelled.", idle)
	screen.types("say between", "\r")
	screen.waitNow(t, "[between]", idle)
	screen.types("form", "\r")
	screen.waitNow(t, "The agent asks: Where")
	screen.answer(t, "y", "Enter answers, Ctrl-C cancels")
	screen.types("\x15", "\x03", "\x15") // what was pressed after the answer is in the input
	screen.waitNow(t, "! Cancelled.", "! Cancelled.", idle)
	screen.types("say after", "\r")
	screen.waitNow(t, "[after]", idle)
	screen.leaves(t, wait)
	require.NotContains(t, p.out.String(), "{\"city\"")
}

// Sessions are opened in place of the one that is shown, and what is typed then goes to them.
func TestSessionsOnAScreen(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("say one", "\r")
	screen.waitFor(t, "[one]")
	screen.types("/sessions", "\r")
	screen.waitFor(t, "an old⟨U+202E⟩ one")
	screen.types("/sessions 1", "\r")
	screen.waitFor(t, "what was said")
	mark := screen.mark()
	screen.types("say two", "\r")
	screen.waitAfter(t, mark, "[two]")
	screen.types("/new", "\r")
	screen.waitAfter(t, mark, "A new conversation.")
	mark = screen.mark()
	screen.types("say three", "\r")
	screen.waitAfter(t, mark, "[three]")
	screen.leaves(t, wait)
	out := sgr.ReplaceAllString(p.out.String(), "")
	require.Contains(t, out, "A new conversation.")
	require.Contains(t, out, "[three]")
	require.NotContains(t, out, "[two]", "only the session that is open stays behind")
}

func TestMistakesOnAScreen(t *testing.T) {
	p := newPerson(t)
	screen := p.sitDown()
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.types("/set nothing x", "\r")
	screen.waitFor(t, "! ")
	screen.types("error it is broken", "\r")
	screen.waitFor(t, "! session/prompt: it is broken (-32603)")
	screen.types("stop max_tokens", "\r")
	screen.waitFor(t, "! the model has reached its limit of tokens; ask for less at a time")
	screen.types("!echo out; echo err >&2; exit 4", "\r")
	screen.waitFor(t, "! exit code 4")
	screen.types("\x15")
	screen.leaves(t, wait)
	out := sgr.ReplaceAllString(p.out.String(), "")
	require.Contains(t, out, "out\nerr\n! exit code 4\n")

	for prompt, want := range map[string]int{"stop cancelled": chat.ExitInterrupted, "stop refusal": chat.ExitError, "error x": chat.ExitError, "say x": chat.ExitOK} {
		p := newPerson(t)
		p.Prompt = prompt
		p.sitDown()
		require.Equal(t, want, p.start(t)(), prompt)
	}
}

// hungUp is a terminal that takes no more after a moment.
type hungUp struct {
	*teletype
	gone atomic.Bool
}

func (h *hungUp) Write(p []byte) (int, error) {
	if h.gone.Load() {
		return 0, errors.New("input/output error")
	}
	return h.teletype.Write(p)
}

func TestTerminalThatIsGone(t *testing.T) {
	p := newPerson(t)
	screen := &hungUp{teletype: newTeletype()}
	p.Terminal = func() (tty.Terminal, error) { return screen, nil }
	wait := p.start(t)
	screen.waitFor(t, "Talking to fake.")
	screen.gone.Store(true)
	screen.types("x")
	require.Equal(t, chat.ExitError, wait())
	require.Contains(t, p.errors.String(), "chat: the terminal is gone: input/output error")
}
