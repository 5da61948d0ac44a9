// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"reflect"
	"strings"
	"sync"

	"github.com/ponte-go/ponte/agent/model"
)

func testInfo(s *subject) {
	m := s.model()
	var first model.Info
	s.soon("Info", func() { first = m.Info() })
	if first.Provider == "" || first.Name == "" {
		s.t.Errorf("Info has provider %q and model %q; both must be set", first.Provider, first.Name)
	}
	if first.Provider != strings.ToLower(first.Provider) {
		s.t.Errorf("provider %q is not in lower case", first.Provider)
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if again := m.Info(); !reflect.DeepEqual(first, again) {
				s.t.Errorf("Info was %+v and is now %+v", first, again)
			}
		})
	}
	wg.Wait()
	if sent := s.sent(); sent != "" {
		s.t.Errorf("Info made a request: %q", sent)
	}
}

// testAnswer compares the message with what the provider sent.
func testAnswer(s *subject) {
	s.saidWhatTheProviderDid(s.answer(question("How is the weather?"), nil))
}

func (s *subject) saidWhatTheProviderDid(msg *model.Message) {
	s.t.Helper()
	if s.h.Unscripted {
		return
	}
	want := s.scenario.Answer
	if info := s.m.Info(); s.h.Provider && (msg.Provider != info.Provider || msg.Model == "") {
		s.t.Errorf("response has provider %q and model %q, want provider %q; both must be set", msg.Provider, msg.Model, info.Provider)
	}
	if got := msg.Text(); got != want.Text() {
		s.t.Errorf("text is %q, provider sent %q", got, want.Text())
	}
	for _, kind := range []model.PartKind{model.PartThinking, model.PartToolCall, model.PartMedia} {
		got, want := s.partsOf(msg, kind), s.partsOf(want, kind)
		if !reflect.DeepEqual(got, want) {
			s.t.Errorf("parts of kind %s are\n%q, provider sent\n%q", kind, shortened(got), shortened(want))
		}
	}
	refused := msg.Finish == model.FinishRefusal && want.Finish == model.FinishContentFilter // as some providers say it
	if msg.Finish != want.Finish && !refused {
		s.t.Errorf("finish reason is %q, provider sent %q", msg.Finish, want.Finish)
	}
}

// partsOf returns the parts of a kind, without ids, for comparison.
func (s *subject) partsOf(msg *model.Message, kind model.PartKind) []string {
	var parts []string
	for _, p := range msg.Parts {
		if p.Kind == kind {
			p.CallID = ""
			parts = append(parts, s.summary(p)+p.MediaType+string(p.Data))
		}
	}
	return parts
}

func shortened(all []string) []string {
	short := make([]string, len(all))
	for i, s := range all {
		short[i] = shortText(s)
	}
	return short
}

func testStreamedAnswer(s *subject) {
	req := question("How is the weather?")
	whole := s.answer(req, nil)
	streamed := s.answer(req, func(model.Delta) error { return nil })
	s.saidWhatTheProviderDid(streamed)
	s.sameContent("streamed response differs from the unstreamed one", whole, streamed)
}

func testDeltas(s *subject) {
	j := s.joined()
	msg := s.answer(question("How is the weather?"), j.sink)
	j.agree(msg)
}

func testCallIDs(s *subject) {
	req := question("How is the weather?")
	s.answer(req, nil) // makes its own checks
	j := s.joined()
	j.agree(s.answer(req, j.sink))
}

func testConcurrency(s *subject) {
	req := question("How is the weather?")
	want := s.answer(req, nil)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for range 5 {
				var sink model.Sink
				j := s.joined()
				if i%2 == 0 {
					sink = j.sink
				}
				msg, err := s.m.Generate(s.t.Context(), req, sink)
				if err != nil || msg == nil {
					s.t.Errorf("one of several concurrent requests returned message %v, error %v", msg, err)
					return
				}
				checkMessage(s.t, msg)
				s.sameContent("one of several concurrent responses differs", want, msg)
				if sink != nil {
					j.agree(msg)
				}
			}
		})
	}
	wg.Wait()
}
