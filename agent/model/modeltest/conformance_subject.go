// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/plainjson"
)

// subject is the model under test in one scenario.
type subject struct {
	t        testing.TB
	h        Harness
	scenario Scenario
	runner   runner
	m        model.Model
	// sink is used for requests whose bytes are checked.
	sink model.Sink
	// origin is the t the model was made with.
	origin testing.TB
}

// run runs a subtest with the same model.
func (s *subject) run(name string, f func(*subject)) {
	s.t.Helper()
	m := s.model() // New may skip, with its own t
	s.runner(s.t, name, func(t testing.TB) {
		f(&subject{t: t, h: s.h, scenario: s.scenario, runner: s.runner, m: m, origin: s.origin})
	})
}

// model returns the model, made on first use.
func (s *subject) model() model.Model {
	s.t.Helper()
	if s.m == nil {
		if s.m = s.h.New(s.t, s.scenario); s.m == nil {
			s.t.Fatal("Harness.New returned nil")
		}
	}
	return s.m
}

// generate makes a request and checks the rules for all requests: the result is a valid message or
// an error.
func (s *subject) generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	s.t.Helper()
	msg, err := s.model().Generate(ctx, req, sink)
	switch {
	case msg == nil && err == nil:
		s.t.Fatal("Generate returned neither a message nor an error")
	case msg != nil && err != nil:
		s.t.Fatalf("Generate returned both a message and the error %v", err)
	case err == nil:
		checkMessage(s.t, msg)
	}
	return msg, err
}

// answer makes a request that must succeed.
func (s *subject) answer(req *model.Request, sink model.Sink) *model.Message {
	s.t.Helper()
	msg, err := s.generate(s.t.Context(), req, sink)
	if err != nil {
		s.t.Fatalf("Generate failed: %v", err)
	}
	return msg
}

// soon fails the test if f takes long.
func (s *subject) soon(what string, f func()) {
	s.t.Helper()
	begin := time.Now()
	f()
	if took := time.Since(begin); took > patience {
		s.t.Errorf("%s took %v", what, took)
	}
}

// patient returns a context for a request that a broken model may never end.
func (s *subject) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.t.Context(), 2*patience)
}

// checkMessage checks the rules for every response.
func checkMessage(t testing.TB, msg *model.Message) {
	t.Helper()
	if msg.Kind != model.KindResponse {
		t.Errorf("message is of kind %q, not a response", msg.Kind)
	}
	if msg.Finish == "" {
		t.Error("message has no finish reason")
	}
	var ids []string
	for i, p := range msg.Parts {
		switch p.Kind {
		case model.PartText, model.PartThinking, model.PartMedia, model.PartOpaque, model.PartCitation:
		case model.PartToolCall:
			if p.CallID == "" || p.Tool == "" {
				t.Errorf("part %d is a call of tool %q with id %q; both must be set", i, p.Tool, p.CallID)
			}
			if slices.Contains(ids, p.CallID) {
				t.Errorf("two calls have the id %q", p.CallID)
			}
			ids = append(ids, p.CallID)
		default:
			t.Errorf("part %d is of kind %q, which must not occur in a response", i, p.Kind)
		}
		if (p.Kind == model.PartOpaque || p.Kind == model.PartCitation || len(p.Signature) > 0) && p.Provider == "" {
			t.Errorf("part %d has something to send back but does not name its provider", i)
		}
	}
	if _, err := json.Marshal(msg); err != nil {
		t.Errorf("message cannot be encoded as JSON: %v", err)
	}
}

// content formats a message for comparison: without ids of the provider, which differ between
// responses, and without usage, which has its own rule.
func (s *subject) content(msg *model.Message) string {
	c := struct {
		Parts  []model.Part
		Args   []string
		Finish model.FinishReason
		Model  string
	}{slices.Clone(msg.Parts), nil, msg.Finish, msg.Provider + " " + msg.Model}
	for i := range c.Parts {
		p := &c.Parts[i]
		c.Args = append(c.Args, s.args(string(p.Args)))
		p.ID, p.CallID, p.Args = "", "", nil
	}
	return asJSON(c)
}

// sameContent fails the test unless two messages have the same content.
func (s *subject) sameContent(what string, want, got *model.Message) {
	s.t.Helper()
	if a, b := s.content(want), s.content(got); a != b {
		s.t.Errorf("%s\n got %.2000s\nwant %.2000s", what, b, a)
	}
}

// question returns a request that offers the tools that the responses call.
func question(text string) *model.Request {
	return &model.Request{
		Instructions: "Answer briefly.",
		Messages:     []*model.Message{model.UserText(text)},
		Tools: []model.ToolDef{
			{Name: "weather", Description: "The weather of a city.", Schema: json.RawMessage(
				`{"type":"object","properties":{"city":{"type":"string","description":"Where it rains."},"id":{"type":"integer"},"f":{"type":"number"}},"required":["city"]}`)},
			{Name: "time", Description: "The time.", Schema: json.RawMessage(`{"type":"object","properties":{}}`)},
		},
	}
}

// asJSON returns a value as JSON, without HTML escaping. Its type must be one that can always be
// encoded.
func asJSON(v any) string {
	text, err := plainjson.Marshal(v)
	if err != nil {
		panic("modeltest: " + err.Error())
	}
	return string(text)
}
