// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acp/unstable"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/deps"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/toolset"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// Up to eight choices are options of a permission request. More of them are left to the model.
func TestEightChoicesAreOffered(t *testing.T) {
	for n := 1; n <= 9; n++ {
		var choices []string
		for i := range n {
			choices = append(choices, fmt.Sprint("choice ", i))
		}
		enum, err := json.Marshal(choices)
		require.NoError(t, err)
		editor := acptest.New(acptest.Options{Answers: []acptest.Answer{acptest.Answer(fmt.Sprint("choice-", n-1))}})
		q := questionOf(fmt.Sprintf(`{"properties":{"a":{"type":"string","enum":%s}}}`, enum))
		reply, err := acpbridge.Asker(editor.Deps("/repo")).Answer(t.Context(), q)
		if n == 9 {
			require.ErrorIs(t, err, toolset.ErrNobody)
			continue
		}
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"a":"choice %d"}`, n-1), string(reply.Content))
		require.Len(t, editor.Permissions()[0].Options, n+1)
	}
}

// A title may have two hundred characters. The last one of a longer title says that it is cut.
func TestTitlesOfTwoHundredCharactersAreKept(t *testing.T) {
	e, id := start(t, unstableConfig(t, newStore(), modeltest.Script()))
	for _, c := range []struct{ title, want string }{
		{strings.Repeat("é", 199), strings.Repeat("é", 199)},
		{strings.Repeat("é", 200), strings.Repeat("é", 200)},
		{strings.Repeat("é", 201), strings.Repeat("é", 199) + "…"},
		{strings.Repeat("é", 198) + " éé", strings.Repeat("é", 198) + "…"},
	} {
		answer := e.about(unstable.MethodSetSessionTitle, id, fmt.Sprintf(`,"title":%q`, c.title))
		require.JSONEq(t, fmt.Sprintf(`{"title":%q}`, c.want), string(answer.Result))
	}
}

// A client is told of the first hundred prompts that wait.
func TestAHundredWaitingPromptsAreTold(t *testing.T) {
	m, asked, answer := answered()
	c := config(t, m)
	c.Host.Busy = host.BusyQueue
	e, id := start(t, c)
	first := e.sendPrompt(id, "first")
	<-asked
	seen := 0
	for n := 1; n <= 100; n++ {
		e.sendPrompt(id, fmt.Sprint("prompt ", n))
		e.waitFor(&seen, n)
	}
	e.sendPrompt(id, "prompt 101")
	told := e.waitFor(&seen, 100)
	require.Len(t, told, 100)
	require.Equal(t, []string{"1", "100"}, []string{told[0], told[99]})
	answer <- "done"
	requireStop(t, acp.StopReasonEndTurn, e.answer(first))
	e.cancel()
	require.ErrorIs(t, e.result(), context.Canceled)
	for _, l := range e.all() {
		if u := l.Params.Update.SessionInfoUpdate; u != nil {
			all, _ := acpview.WaitingOf(u)
			require.LessOrEqual(t, len(all), 100)
		}
	}
}

// silent is an editor on another machine that writes files, and then answers nothing any more.
type silent struct {
	acp.UnimplementedClient
	written bool
}

func (s *silent) ReadTextFile(ctx context.Context, _ *acp.ReadTextFileRequest) (*acp.ReadTextFileResponse, error) {
	if !s.written {
		return &acp.ReadTextFileResponse{Content: "before"}, nil
	}
	<-ctx.Done()
	return nil, context.Cause(ctx)
}

func (s *silent) WriteTextFile(context.Context, *acp.WriteTextFileRequest) (*acp.WriteTextFileResponse, error) {
	s.written = true
	return &acp.WriteTextFileResponse{}, nil
}

// What an editor has made of a change is read, for up to half a minute.
func TestAWrittenFileIsReadBackForHalfAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &deps.Session{ID: "s", Cwd: "/no/such/machine"}
		s.Capabilities.FS.ReadTextFile, s.Capabilities.FS.WriteTextFile = true, true
		w, err := acpbridge.NewWorkspace(deps.ACPDeps{Client: &silent{}, Session: s}, acpbridge.LocalFallback{})
		require.NoError(t, err)
		began := time.Now()
		_, err = w.Write(t.Context(), "a", []byte("after"), ws.AnyVersion)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 30*time.Second, time.Since(began))
	})
}

// A change of a file that is changed again and again is asked for six times, and then given up.
func TestAFileThatChangesWhileItIsAskedForIsGivenUp(t *testing.T) {
	for changes, outcome := range map[int]model.Outcome{0: model.OutcomeSuccess, 5: model.OutcomeSuccess, 6: model.OutcomeFailed} {
		var editor *acptest.Client
		asked := 0
		editor = acptest.New(acptest.Options{
			Files: map[string]string{"/project/a": "0"},
			Before: func(_ context.Context, c acptest.Call) error {
				if c.Method == acp.MethodRequestPermission {
					if asked++; asked <= changes {
						editor.SetFile("/project/a", fmt.Sprint(asked))
					}
				}
				return nil
			},
		})
		r := once(t, editor, "write_file", args{"path": "a", "content": "new"})
		require.Equal(t, outcome, r.answer(t).Outcome, "%d changes", changes)
		require.Equal(t, min(changes+1, 6), asked)
	}
}

// How much an editor has dropped of an output is found by the 256 bytes that were its end before.
func TestTheEndOfAnOutputIsRememberedInTheNextOne(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %02d\n", i)
	}
	before := text.String()
	for kept, at := range map[int]int64{257: 800 - 257, 256: 800 - 256, 255: 800, 1: 800} {
		output := before
		_, w := away(t, func(_ context.Context, method string) (string, error) {
			if method == "create" {
				return `{"terminalId":"t"}`, nil
			}
			return string(mustJSON(t, map[string]any{"output": output, "truncated": len(output) < 800})), nil
		})
		p, err := w.Start(t.Context(), ws.Command{Line: "make"})
		require.NoError(t, err)
		c, err := p.Output(t.Context(), 0, 0)
		require.NoError(t, err)
		require.EqualValues(t, 800, c.End)
		output = before[800-kept:] + "more"
		c, err = p.Output(t.Context(), 0, 0)
		require.NoError(t, err)
		require.Equal(t, at, c.From, "%d bytes of it are left", kept)
		require.True(t, c.Lost)
	}
}

// An output whose beginning is missing lacks a byte at least. What was its end before counts as a
// whole.
func TestTheBeginningOfAnOutputThatIsMissing(t *testing.T) {
	for _, c := range []struct {
		outputs []string // from the second one on, the beginning is missing
		want    int64
	}{
		{[]string{"", "abc"}, 1}, {[]string{"abc", "bcd"}, 3}, {[]string{"abc", "abcd"}, 1}, {[]string{"abc", "abcd", "bcde"}, 5}, {[]string{"a", "b", "bc"}, 1},
	} {
		text, truncated := "", false
		_, w := away(t, func(_ context.Context, method string) (string, error) {
			if method == "create" {
				return `{"terminalId":"t"}`, nil
			}
			return string(mustJSON(t, map[string]any{"output": text, "truncated": truncated})), nil
		})
		p, err := w.Start(t.Context(), ws.Command{Line: "make"})
		require.NoError(t, err)
		var from int64
		for i, output := range c.outputs {
			text, truncated = output, i > 0
			chunk, err := p.Output(t.Context(), 0, 0)
			require.NoError(t, err)
			require.Equal(t, truncated, chunk.Lost)
			from = chunk.From
		}
		require.Equal(t, c.want, from, "%v", c.outputs)
	}
}
