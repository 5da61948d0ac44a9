// SPDX-License-Identifier: Apache-2.0

package compaction_test

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/history"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
)

// small is a model with a context window. It checks what every request must be.
type small struct {
	t      testing.TB
	window int
	// bytes is how many bytes a token has. silent says that it reports no usage.
	bytes  int
	silent bool
	answer func(req *model.Request) *model.Message

	mu sync.Mutex
	// requests are those that it took, refused how many it did not.
	requests []*model.Request
	refused  int
}

func (s *small) Info() model.Info {
	return model.Info{Provider: "test", Name: "small", ContextWindow: s.window}
}

func (s *small) tokens(req *model.Request) int {
	n := len(req.Instructions) + 1000
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			n += len(p.Text) + len(p.Args) + len(p.Tool) + 16
		}
	}
	return n / s.bytes
}

func (s *small) Generate(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	requireWhole(s.t, req.Messages)
	n := s.tokens(req)
	if n > s.window {
		s.refused++
		return nil, &model.APIError{Provider: "test", Model: "small", Status: 400, Code: "context_length_exceeded"}
	}
	s.requests = append(s.requests, req)
	resp := s.answer(req)
	if !s.silent {
		resp.Usage = model.Usage{InputTokens: int64(n), OutputTokens: int64(len(resp.Text())/s.bytes + 20)}
	}
	return resp, nil
}

// requireWhole checks that calls and results belong together.
func requireWhole(t testing.TB, messages []*model.Message) {
	t.Helper()
	open := map[string]bool{}
	for _, m := range messages {
		if m.Kind == model.KindResponse {
			require.Empty(t, open, "calls without results")
		}
		for _, p := range m.Parts {
			switch {
			case p.Kind == model.PartToolCall:
				open[p.CallID] = true
			case p.Kind == model.PartToolReturn || p.Kind == model.PartRetry && p.CallID != "":
				require.True(t, open[p.CallID], "a result without its call")
				delete(open, p.CallID)
			}
		}
	}
	require.Empty(t, open, "calls without results")
}

var fact = regexp.MustCompile(`FACT-\d+`)

// facts returns the facts that a request has, sorted.
func facts(text string) []string {
	all := fact.FindAllString(text, -1)
	slices.Sort(all)
	return slices.Compact(all)
}

// textOf returns all text of messages.
func textOf(messages []*model.Message) string {
	var b strings.Builder
	for _, m := range messages {
		for _, p := range m.Parts {
			b.WriteString(p.Text + "\n")
		}
	}
	return b.String()
}

// summariser keeps the facts.
func summariser() model.Model {
	return model.Func(model.Info{}, func(_ context.Context, req *model.Request, _ model.Sink) (*model.Message, error) {
		return model.Response(model.Text("They found " + strings.Join(facts(textOf(req.Messages)), " ") + ".")), nil
	})
}

// changedPrefixes counts the requests that do not begin with the one before.
func changedPrefixes(requests []*model.Request) (n int) {
	form := func(m *model.Message) any {
		c := m.Clone()
		c.Metadata = nil // it is not sent
		for i := range c.Parts {
			c.Parts[i].Meta = nil
		}
		return c.Parts
	}
	for i := 1; i < len(requests); i++ {
		before, now := requests[i-1].Messages, requests[i].Messages
		same := len(now) >= len(before) && requests[i].Instructions == requests[i-1].Instructions
		for j := 0; same && j < len(before); j++ {
			same = before[j] == now[j] || reflect.DeepEqual(form(before[j]), form(now[j]))
		}
		if !same {
			n++
		}
	}
	return n
}

// seen counts events.
type seen struct {
	summaries, cleared int
	entities           []view.Entity
}

func (s *seen) add(value any) {
	switch v := value.(type) {
	case history.Summarised:
		s.summaries++
	case history.Cleared:
		s.cleared++
	case view.Change:
		s.entities = append(s.entities, *v.Entity)
	}
}

func (s *seen) titles(kind view.Kind, status view.Status) (titles []string) {
	for _, e := range s.entities {
		if e.Kind == kind && e.Status == status {
			titles = append(titles, e.Title+e.Text())
		}
	}
	return titles
}

func look(n int) *model.Message {
	return model.Response(model.Text(fmt.Sprintf("Look at %d.", n)), model.ToolCall(fmt.Sprint("c", n), "look", fmt.Sprintf(`{"n":%d}`, n)))
}

type lookArgs struct {
	N int `json:"n"`
}
