// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/internal/adapter"
)

// provider is a model in the process that plays a scenario and keeps the contract.
type provider struct {
	modeltest.Scenario
	// encode makes the request body. If nil, the function encode is used.
	encode func(req *model.Request) string
	// info changes the Info of the model.
	info func(*model.Info)

	mu     sync.Mutex
	sent   strings.Builder
	header http.Header
}

func (p *provider) Info() model.Info {
	info := model.Info{
		Provider: "played", Name: "one", NativeOutput: true,
		Media: []string{"image", "application/pdf", "text/plain"}, MediaURLs: []string{"image"},
	}
	if p.info != nil {
		p.info(&info)
	}
	return info
}

func (p *provider) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(p.Info()); err != nil {
		return nil, err
	}
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	if err := check(p.Info(), req); err != nil {
		return nil, fmt.Errorf("played: %w", err)
	}
	p.send(req)
	if p.Fault == modeltest.FaultEmpty {
		return nil, p.broken(errors.New("no answer"))
	}
	if p.Answer == nil {
		if p.Error != nil {
			return nil, p.refusal()
		}
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	answer := p.answer()
	if p.Fault == modeltest.FaultTruncated {
		last := &answer.Parts[len(answer.Parts)-1]
		last.Text, last.Args = last.Text[:len(last.Text)/2], last.Args[:len(last.Args)/2]
	}
	if sink != nil {
		if err := modeltest.Emit(ctx, answer, sink); err != nil {
			return nil, err
		}
	}
	switch {
	case p.Fault == modeltest.FaultTruncated:
		return nil, p.broken(io.ErrUnexpectedEOF)
	case p.Error != nil:
		return nil, p.refusal()
	case p.Silent:
		<-ctx.Done()
		return nil, context.Cause(ctx)
	}
	return answer, nil
}

// answer returns the scenario's response, signed and with unique ids.
func (p *provider) answer() *model.Message {
	answer := p.Answer.Clone()
	answer.Provider, answer.Model = "played", "one"
	var ids adapter.CallIDs
	for i := range answer.Parts {
		part := &answer.Parts[i]
		if part.Kind == model.PartToolCall {
			part.CallID = ids.Unique(part.CallID)
		}
		if part.Kind == model.PartOpaque || part.Kind == model.PartCitation || len(part.Signature) > 0 {
			part.Provider = "played"
		}
	}
	return answer
}

func (p *provider) refusal() error {
	e := *p.Error
	e.Provider, e.Model = "played", "one"
	return &e
}

func (p *provider) broken(cause error) error {
	return &model.APIError{Provider: "played", Model: "one", Retryable: true, Err: cause}
}

func check(info model.Info, req *model.Request) error {
	for _, m := range req.Messages {
		for i := range m.Parts {
			if part := &m.Parts[i]; part.Kind == model.PartMedia && m.Kind == model.KindRequest {
				if err := adapter.CheckMedia(info, part); err != nil {
					return err
				}
			}
		}
	}
	if s := req.Settings; s != nil {
		switch {
		case !slices.Contains([]string{"", "off", "low", "high"}, s.Thinking):
			return adapter.Unsupported(info, "thinking "+s.Thinking)
		case s.ServiceTier != "":
			return adapter.Unsupported(info, "service tier")
		}
	}
	if req.Output != nil && !info.NativeOutput {
		return adapter.Unsupported(info, "output bound to a schema")
	}
	return errors.Join(req.Settings.Check(), adapter.CheckTools(req))
}

func (p *provider) send(req *model.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.header = http.Header{}
	if req.Settings != nil {
		for name, value := range req.Settings.ExtraHeaders {
			p.header.Set(name, value)
		}
	}
	if p.encode == nil {
		p.sent.WriteString(encode(req))
	} else {
		p.sent.WriteString(p.encode(req))
	}
}

// encode makes the request body of a good model.
func encode(req *model.Request) string {
	sent := *req
	says := func(msg *model.Message) bool {
		return slices.ContainsFunc(msg.Parts, func(p model.Part) bool { return adapter.Says(&p) })
	}
	sent.Messages = nil
	ids := adapter.WireIDs{}
	for _, m := range adapter.Without(req.Messages, says) {
		m = m.Clone()
		ids.Turn()
		for i := range m.Parts {
			switch p := &m.Parts[i]; {
			case p.Kind == model.PartToolCall:
				p.CallID = ids.Call(p.CallID, "")
			case adapter.AnswersCall(p):
				p.CallID = ids.Result(p.CallID)
			}
		}
		sent.Messages = append(sent.Messages, m)
	}
	return encodeAsIs(&sent)
}

// encodeAsIs sends what should not be sent.
func encodeAsIs(req *model.Request) string {
	sent := *req
	sent.Messages = nil
	for _, m := range req.Messages {
		clean := &model.Message{Kind: m.Kind}
		for _, part := range m.Parts {
			part.Meta, part.Keep = nil, ""
			if part.Provider != "played" {
				part.Signature, part.Provider, part.ID = nil, "", ""
				if part.Kind == model.PartThinking || part.Kind == model.PartOpaque || part.Kind == model.PartCitation {
					continue
				}
			}
			clean.Parts = append(clean.Parts, part)
		}
		sent.Messages = append(sent.Messages, clean)
	}
	var body map[string]json.RawMessage // which the JSON of settings hides
	if req.Settings != nil {
		s := *req.Settings
		body, s.ExtraHeaders, s.ExtraBody = s.ExtraBody, nil, nil
		sent.Settings = &s
	}
	text, err := json.Marshal(sent)
	if err != nil {
		panic(err)
	}
	extra, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	return string(text) + string(extra)
}

// wires records what the providers of a harness are sent.
type wires struct {
	mu   sync.Mutex
	made map[testing.TB]*provider
}

func (w *wires) new(t testing.TB, s modeltest.Scenario) *provider {
	p := &provider{Scenario: s}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.made == nil {
		w.made = map[testing.TB]*provider{}
	}
	w.made[t] = p
	return p
}

func (w *wires) of(t testing.TB) *provider {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.made[t]
}

// watch adds Sent and SentHeader to a harness whose models are made by new.
func (w *wires) watch(h modeltest.Harness) modeltest.Harness {
	h.Sent = func(t testing.TB) string {
		p := w.of(t)
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.sent.String()
	}
	h.SentHeader = func(t testing.TB) http.Header { return w.of(t).header }
	return h
}
