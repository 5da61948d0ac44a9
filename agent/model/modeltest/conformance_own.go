// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"bytes"
	"encoding/json"
	"reflect"

	"github.com/ponte-go/ponte/agent/model"
)

// testWantedBack continues a conversation whose last response contains something that the provider
// wants back. The message is first read back from JSON, as in stored histories.
func testWantedBack(s *subject) {
	if s.h.Unscripted {
		s.t.Skip("the model decides its responses itself")
	}
	s.needsSent()
	req := question("How is the weather?")
	for name, sink := range map[string]model.Sink{"complete": nil, "streamed": func(model.Delta) error { return nil }} {
		s.run(name, func(s *subject) {
			msg := s.answer(req, sink)
			s.saidWhatTheProviderDid(msg)
			if s.hasWanted(msg) {
				s.goesBack(req, msg)
			}
		})
	}
}

// hasWanted reports whether a response contains what the provider wants back. It reports errors.
func (s *subject) hasWanted(msg *model.Message) bool {
	s.t.Helper()
	info, found := s.m.Info(), false
	for i := range msg.Parts {
		p := &msg.Parts[i]
		if len(p.Signature) == 0 && p.Kind != model.PartOpaque {
			continue
		}
		if p.Provider != info.Provider {
			s.t.Errorf("part %d has provider %q, the model's is %q", i, p.Provider, info.Provider)
		}
		for _, want := range s.scenario.Answer.Parts {
			switch {
			case want.Kind != p.Kind:
			case want.Kind == model.PartOpaque: // in a form chosen by the adapter
				found = found || carries(string(p.Data), []byte(ours))
			case len(want.Signature) > 0:
				found = found || bytes.Equal(p.Signature, want.Signature)
			}
		}
	}
	if !found {
		s.t.Errorf("response lacks what the provider wants back, %q: %.2000s", ours, s.content(msg))
	}
	return found
}

// goesBack sends a conversation with a response twice: to its own provider, which must get back
// what it wants, and with every part attributed to another provider.
func (s *subject) goesBack(req *model.Request, msg *model.Message) {
	s.t.Helper()
	text, err := json.Marshal(msg)
	if err != nil {
		s.t.Fatalf("message cannot be encoded as JSON: %v", err)
	}
	read := &model.Message{}
	if err := json.Unmarshal(text, read); err != nil || !reflect.DeepEqual(read.Parts, msg.Parts) {
		s.t.Errorf("message does not survive JSON (%v)\n got %+v\nwant %+v", err, read.Parts, msg.Parts)
	}
	results := &model.Message{Kind: model.KindRequest}
	for _, p := range read.Parts {
		if p.Kind == model.PartToolCall {
			results.Parts = append(results.Parts, model.ToolReturn(p.CallID, p.Tool, "rain"))
		}
	}
	next := *req
	next.Messages = []*model.Message{req.Messages[0], read, results}
	if sent := s.mustSend(&next); !carries(sent, []byte(ours)) {
		s.t.Errorf("%q was not sent back to the provider that wants it: %.2000s", ours, sent)
	}
	foreign := read.Clone()
	foreign.Provider = "elsewhere"
	for i := range foreign.Parts {
		if foreign.Parts[i].Provider != "" {
			foreign.Parts[i].Provider = "elsewhere"
		}
	}
	next.Messages = []*model.Message{req.Messages[0], foreign, results}
	if sent := s.mustSend(&next); carries(sent, []byte(ours)) {
		s.t.Errorf("%q, from another provider, was sent: %.2000s", ours, sent)
	}
}
