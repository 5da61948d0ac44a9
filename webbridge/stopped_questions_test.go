// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// A turn is stopped while it asks. Its question is shown as cancelled, not as answered; the call has
// not run; and a tool that has asked is told that the turn was stopped, not that the answer was
// wrong.
func TestQuestionsOfTurnsThatAreStoppedAreCancelled(t *testing.T) {
	paid, told := make(chan string, 1), make(chan error, 1)
	ask := toolset.Func("ask", "Ask.", func(ctx context.Context, run *toolset.RunContext[none], _ none) (string, error) {
		_, err := run.Ask(ctx, toolset.Question{Message: "Which one?", Schema: []byte(`{"type":"object"}`)})
		told <- err
		return "", err
	})
	for _, call := range []model.Part{model.ToolCall("1", "pay", `{"to":"Ada"}`), model.ToolCall("1", "ask", `{}`)} {
		s := serve(t, options{
			Options: webbridge.Options{Patience: time.Hour},
			model:   modeltest.Script(modeltest.Say(call), modeltest.SayText("done")),
			tools:   []*toolset.Tool[none]{pay(paid), ask},
		})
		path := s.create()
		f := s.follow(path, "")
		s.do("POST", path+"/prompts", say("go"), 202)
		f.until(func() bool { return f.question() != nil })
		id := f.question().ID
		s.do("POST", path+"/cancel", object{}, 204)
		f.until(func() bool { return f.question() == nil && strings.Contains(f.text(), "cancelled") })
		q := f.fold.Get(id)
		require.Equal(t, view.Cancelled, q.Status, call.Tool)
		require.Empty(t, q.Value)
		require.Empty(t, paid)
		if call.Tool == "ask" {
			require.ErrorIs(t, <-told, context.Canceled)
		}
	}
}

// A rule that cannot be taken back, because what keeps it fails, is not said to be taken back. It is
// still listed.
func TestRulesThatCannotBeTakenBackStay(t *testing.T) {
	failure := errors.New("the file is read-only")
	s := serve(t, options{host: host.Config[none, string]{
		Agent:  agent.Must(agent.New(agent.Config[none, string]{Model: echo()})),
		Logger: slog.New(slog.DiscardHandler),
		Layers: func(none) []approval.Layer {
			return []approval.Layer{{Name: "the company", Rules: func() []approval.LayerRule {
				return []approval.LayerRule{{Text: "deny rm", Drop: func() error { return failure }}}
			}}}
		},
	}})
	path := s.create()
	list := func() map[string]any {
		all, _ := s.do("GET", path+"/permissions", nil, 200)["permissions"].([]any)
		require.Len(t, all, 1)
		rule, _ := all[0].(map[string]any)
		require.Equal(t, "deny rm", rule["text"])
		require.Equal(t, "the company", rule["origin"])
		require.Equal(t, true, rule["removable"])
		return rule
	}
	id, _ := list()["id"].(string)
	require.NotContains(t, s.refused("DELETE", path+"/permissions/"+url.PathEscape(id), nil, 500), "read-only")
	list()
	failure = nil
	s.do("DELETE", path+"/permissions/"+url.PathEscape(id), nil, 204)
}
