// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app/internal/term/screen"
)

// A form's field, another conversation and the list of sessions, as they are drawn.
func TestGoldenFormsAndSessions(t *testing.T) {
	d := newDesk(t, 60, 18)
	var all strings.Builder
	shot := func(part string) { all.WriteString("=== " + part + "\n" + d.shown()) }
	d.typed("typed before")
	d.Begin(d.now)
	d.AskLine(7, []string{"City: where to", "  1  Bergen 卑爾根", "  2  Oslo", "(a number or a value)"})
	shot("field")
	d.typed("3")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.AnswerLine, Question: 7, Text: "3"}}, d.done())
	d.AskLine(8, []string{"City: where to", "(a number or a value)", `! City must be one of ["b" "o"]`})
	d.typed("2")
	shot("again")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.AnswerLine, Question: 8, Text: "2"}}, d.done())
	d.End(d.now, "")
	shot("what was typed is back")
	d.read("\x15")

	d.updates(acp.TextChunk("An answer of this conversation."))
	d.typed("/sessions")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.ListSessions}}, d.done())
	d.SetSessions([]screen.Session{{ID: "a", When: "2026-01-02 03:04", Title: "mend the conversion"}, {ID: "b", When: "2026-01-01 10:00", Title: "気温"}})
	shot("sessions")
	d.typed("/sessions 2")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.LoadSession, Text: "b"}}, d.done())
	d.Opened("", true)
	shot("loaded")
	d.typed("/new")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.NewSession}}, d.done())
	d.typed("and now")
	d.read("\r")
	require.Empty(t, d.done(), "it waits for the session")
	d.Opened("A new conversation.", true)
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "and now"}}, d.done())
	shot("new")

	file := filepath.Join("testdata", "forms.golden")
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(all.String()), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), all.String(), "%s: go test -update writes it anew", file)
}

func TestAnswersToFormsAreNotInTheHistory(t *testing.T) {
	d := newDesk(t, 60, 12)
	d.Begin(d.now)
	d.AskLine(1, []string{"Password", "(text)"})
	d.typed("hush")
	d.read("\r")
	d.read("\x1b[A")
	require.NotContains(t, d.shown(), "hush")
	d.AskLine(2, []string{"City", "(text)"})
	d.Withdraw(2)
	require.NotContains(t, d.shown(), "City")
	d.done()
	d.typed("next")
	d.read("\r")
	require.Empty(t, d.done(), "it is a prompt that waits")
}

// Two lines that are read at once are two prompts, one after the other.
func TestPromptsAreSentInOrder(t *testing.T) {
	d := newDesk(t, 60, 12)
	d.read("one\rtwo\r")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "one"}}, d.done())
	d.Begin(d.now)
	d.End(d.now, "")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "two"}}, d.done())
}

func TestSessionsAreNotChangedInATurn(t *testing.T) {
	d := newDesk(t, 60, 12)
	d.Begin(d.now)
	for _, command := range []string{"/new", "/sessions", "/sessions 1"} {
		d.typed(command)
		d.read("\r")
		require.Empty(t, d.done(), command)
		require.Contains(t, d.shown(), "Not while a turn is running")
	}
	d.End(d.now, "")
	d.typed("/sessions 1")
	d.read("\r")
	require.Empty(t, d.done())
	require.Contains(t, d.shown(), "/sessions alone lists them")
	d.typed("/new things")
	d.read("\r")
	require.Equal(t, []screen.Effect{{Do: screen.Send, Text: "/new things"}}, d.done())
}
