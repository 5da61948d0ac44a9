// SPDX-License-Identifier: Apache-2.0

// Package sealtest has conversations with secrets in them, to look for afterwards in what a store has written.
package sealtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// Ring is a keyring.
func Ring() session.Keyring {
	return session.Keyring{Keys: []session.Key{{ID: "k1", Secret: bytes.Repeat([]byte{1}, 32)}}, Index: bytes.Repeat([]byte{2}, 32)}
}

// planter makes secrets.
type planter struct {
	mu  sync.Mutex
	all []string
}

func (p *planter) plant(where string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	secret := fmt.Sprintf("planted-%03d-%s", len(p.all), where)
	p.all = append(p.all, secret)
	return secret
}

type args struct {
	Do   string `json:"do"`
	Text string `json:"text"`
}

// Converse has conversations in a store, whose turns end in each way a turn can end: done, failed, cancelled, with a failed tool, and
// waiting for an approval. One is still running when Converse returns, as in a process that is about to be killed, with another prompt
// waiting. It returns the secrets that were said. Whatever has a text has one.
func Converse(t *testing.T, store session.Store) []string {
	t.Helper()
	p := new(planter)
	calls := 0
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		last := req.Messages[len(req.Messages)-1]
		text := last.Parts[0].Text
		for _, part := range last.Parts {
			if part.Kind == model.PartToolReturn || part.Kind == model.PartRetry {
				return model.Response(model.Thinking(p.plant("thought")), model.Text(p.plant("answer after a tool"))), nil
			}
		}
		do, _, _ := strings.Cut(text, ":")
		if do == "fail" {
			return nil, errors.New(p.plant("error of the model"))
		}
		if do == "say" {
			return model.Response(model.Text(p.plant("answer"))), nil
		}
		calls++
		data, err := json.Marshal(args{do, p.plant("argument of " + do)})
		name := "act"
		if do == "ask" {
			name = "ask"
		}
		return model.Response(model.ToolCall(fmt.Sprint("c", calls), name, string(data))), err
	})
	running := make(chan struct{}, 8)
	act := func(ctx context.Context, _ *toolset.RunContext[struct{}], in args) (string, error) {
		switch in.Do {
		case "break":
			return "", toolset.Failed("%s", p.plant("failure of a tool"))
		case "crash":
			return "", errors.New(p.plant("error of a tool"))
		case "block":
			running <- struct{}{}
			<-ctx.Done()
			return "", fmt.Errorf("%s: %w", p.plant("cancelled tool"), context.Cause(ctx))
		}
		return p.plant("result") + strings.Repeat(" and so on", 20_000), nil // which some stores keep in a file
	}
	tools := []*toolset.Tool[struct{}]{
		toolset.Func("act", "Act.", act),
		toolset.Func("ask", "Ask.", act, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[struct{}], in args) (*toolset.Approval, error) {
			return &toolset.Approval{Title: p.plant("approval"), Reason: p.plant("reason"), Scope: p.plant("scope"), ScopeTitle: p.plant("scope title")}, nil
		})),
	}
	other := p.plant("setting")
	h, err := host.New(host.Config[struct{}, string]{
		Agent: agent.Must(agent.New(agent.Config[struct{}, string]{Model: m, Tools: tools})), Store: store, Busy: host.BusyQueue,
		Models: []host.Model{{ID: "one", Title: "One", Model: m}, {ID: other, Title: "Two", Model: m}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	open := func() *host.Session {
		s, err := h.Create(t.Context(), session.New{
			Title: p.plant("title"), Dir: "/" + p.plant("directory"), Owner: p.plant("owner"), Tenant: p.plant("tenant"),
			Values: map[string]json.RawMessage{"mine": []byte(`"` + p.plant("value") + `"`)},
		}, nil)
		require.NoError(t, err)
		return s
	}
	prompt := func(s *host.Session, do string) host.Prompt {
		return host.Prompt{Parts: []model.Part{model.User(do + ": " + p.plant("prompt to "+do))}, Defer: do == "ask", Plain: true}
	}
	for _, do := range []string{"say", "fail", "act", "break", "crash", "ask"} {
		s := open()
		_, err := s.Prompt(t.Context(), prompt(s, "say"))
		require.NoError(t, err)
		_, err = s.Prompt(t.Context(), prompt(s, do))
		require.NoError(t, err)
		_, err = s.Set(t.Context(), host.SettingModel, other)
		require.NoError(t, err)
		require.NoError(t, s.SetTitle(t.Context(), p.plant("new title")))
		_, err = store.Put(t.Context(), s.ID(), session.Item{Kind: session.ItemNote, By: p.plant("sender"), Digest: p.plant("digest"), Data: []byte(`{"note":"` + p.plant("note") + `"}`)})
		require.NoError(t, err)
	}
	for _, cancelled := range []bool{true, false} {
		s := open()
		var turns sync.WaitGroup
		ctx, cancel := context.WithCancel(context.Background())
		send := func(do string, queued func()) {
			one := prompt(s, do)
			one.Queued = queued
			turns.Go(func() { _, _ = s.Prompt(ctx, one) })
		}
		send("block", nil)
		<-running
		if cancelled {
			s.Cancel()
			turns.Wait()
			cancel()
			continue
		}
		queued := make(chan struct{})
		send("say", func() { close(queued) })
		<-queued
		t.Cleanup(turns.Wait)
		t.Cleanup(cancel)
		_, err = h.Fork(t.Context(), s.ID(), "", session.New{Title: p.plant("fork"), Owner: p.plant("owner of a fork")})
		if err != nil {
			require.ErrorIs(t, err, host.ErrBusy)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	require.GreaterOrEqual(t, len(p.all), 50)
	return p.all
}

// Find returns the secrets that data has, in the clear or as hexadecimal digits.
func Find(secrets []string, data []byte) (found []string) {
	for _, s := range secrets {
		if bytes.Contains(data, []byte(s)) || bytes.Contains(data, fmt.Appendf(nil, "%x", s)) {
			found = append(found, s)
		}
	}
	return found
}
