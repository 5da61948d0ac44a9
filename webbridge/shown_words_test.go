// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

// outcomes are the ways in which a turn ends, by their names in scripts.
var outcomes = map[string]*host.Outcome{
	"unknown":   nil,
	"done":      {Reason: transcript.Done},
	"cancelled": {Reason: transcript.Cancelled, Err: context.Canceled},
	"refused":   {Reason: transcript.Refused, Err: errors.New("no")},
	"filtered":  {Reason: transcript.Done, Finish: model.FinishContentFilter},
	"long":      {Reason: transcript.Done, Finish: model.FinishLength},
	"failed":    {Reason: transcript.Failed, Err: errors.New("no")},
}

// TestAnswersInTheWordsOfBrowsers plays what sessions show, and compares each event that a client of a protocol gets, and what a page
// loads afterwards. A line of a script is an entity, a change of one, or what the client does:
//
//	{"id":…}           is shown, or replaces the one with its id
//	+ID "text"         adds a text; +ID {…} adds content
//	raw input ID TEXT  its input is not JSON; or its output
//	-ID                is shown no more
//	prompt ID          clients follow the answer to this prompt; without, they follow what is before the first one
//	claim […]          a page has these parts of the answer
//	answered ID        the request has answered the question
//	show               the clients are shown what is new
//	end OUTCOME        the turn has ended
//
// To write what is expected anew, set UPDATE, and read what has changed.
func TestAnswersInTheWordsOfBrowsers(t *testing.T) {
	scripts, err := filepath.Glob("testdata/shown/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	h := newHandler(t, options{})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	for _, path := range scripts {
		script, err := os.ReadFile(path)
		require.NoError(t, err)
		var got strings.Builder
		for part := range strings.SplitSeq(string(script), "\n\n") {
			title, _, _ := strings.Cut(part, "\n")
			for _, protocol := range []string{"UI message stream", "AG-UI"} {
				fmt.Fprintf(&got, "%s: %s\n%s\n", title, protocol, played(t, h, protocol, part))
			}
		}
		want := strings.TrimSuffix(path, ".txt") + ".want"
		if os.Getenv("UPDATE") != "" {
			require.NoError(t, os.WriteFile(want, []byte(got.String()), 0o600))
		}
		expected, err := os.ReadFile(want)
		require.NoError(t, err)
		require.Equal(t, string(expected), got.String(), path)
	}
}

// played plays a script for a client of a protocol, and returns what the client is told.
func played(t *testing.T, h *webbridge.Handler, protocol, script string) string {
	t.Helper()
	var f view.Fold
	var told strings.Builder
	var all map[string]webbridge.Shown
	w := &written{discard: discard{http.Header{}}}
	c, prompt, claimed, shown := f.Cursor(nil), "", "", webbridge.Shown{}
	begin := func() {
		if all == nil {
			all = h.Answers(func(p string) http.ResponseWriter {
				if p == protocol {
					return w
				}
				return discard{http.Header{}}
			}, prompt, claimed)
			shown = all[protocol]
		}
	}
	flush := func(what string) {
		for line := range strings.Lines(w.String()) {
			if line = strings.TrimPrefix(line, "data: "); strings.TrimSpace(line) != "" {
				told.WriteString(line)
			}
		}
		w.Reset()
		told.WriteString(what + "\n")
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		word, rest, _ := strings.Cut(line, " ")
		switch {
		case strings.HasPrefix(line, "#"), line == "":
		case strings.HasPrefix(line, "{"):
			var e view.Entity
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			put(t, &f, e)
		case strings.HasPrefix(line, "+"):
			change := view.Change{Op: view.Append, ID: word[1:]}
			if json.Unmarshal([]byte(rest), &change.Text) != nil {
				change.Content = make([]view.Content, 1)
				require.NoError(t, json.Unmarshal([]byte(rest), &change.Content[0]), line)
			}
			require.NoError(t, f.Apply(change))
		case strings.HasPrefix(line, "-"):
			require.NoError(t, f.Apply(view.Change{Op: view.Remove, ID: line[1:]}))
		case word == "raw":
			part := strings.SplitN(rest, " ", 3)
			e := *f.Get(part[1])
			if part[0] == "input" {
				e.Input = json.RawMessage(part[2])
			} else {
				e.Output = json.RawMessage(part[2])
			}
			put(t, &f, e)
		case word == "prompt":
			prompt = rest
		case word == "claim":
			claimed = rest
		case word == "answered":
			begin()
			shown.Answered(f.Get(rest))
		case word == "show":
			begin()
			flush(fmt.Sprint("more: ", shown.Show(c)))
		case word == "end":
			begin()
			require.Contains(t, outcomes, rest)
			shown.End(outcomes[rest])
			flush("ended: " + rest)
		default:
			require.Fail(t, "unknown line", line)
		}
	}
	if protocol == "UI message stream" {
		told.WriteString("loaded:\n" + strings.Join(webbridge.LoadedUI(&f), "\n") + "\n")
	}
	return told.String()
}
