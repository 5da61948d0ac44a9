// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

func testErrorWithinStream(s *subject) {
	j := s.joined()
	_, err := s.generate(s.t.Context(), question("How is the weather?"), j.sink)
	s.apiError(err)
	if !strings.Contains(err.Error(), s.scenario.Error.Message) {
		s.t.Errorf("error %q does not contain the provider's message %q", err, s.scenario.Error.Message)
	}
	j.beginning("the error")
}

// mayPass checks the error for a truncated or missing response, which must be retryable.
func (s *subject) mayPass(err error) {
	s.t.Helper()
	if e := s.apiError(err); !e.Retryable {
		s.t.Errorf("error is not retryable: %v", err)
	}
}

func testTruncated(s *subject) {
	_, err := s.generate(s.t.Context(), question("How is the weather?"), nil)
	s.mayPass(err)
}

func testTruncatedStream(s *subject) {
	j := s.joined()
	_, err := s.generate(s.t.Context(), question("How is the weather?"), j.sink)
	s.mayPass(err)
	j.beginning("the end")
}

func testEmpty(s *subject) {
	_, err := s.generate(s.t.Context(), question("How is the weather?"), nil)
	s.mayPass(err)
	j := s.joined()
	_, err = s.generate(s.t.Context(), question("How is the weather?"), j.sink)
	s.mayPass(err)
	if len(j.parts) > 0 {
		s.t.Errorf("there is no response, but the sink got %s", describeParts(j.parts))
	}
}

// testCompleteAnswer compares both an unstreamed and a streamed response with what the provider
// sent.
func testCompleteAnswer(s *subject) {
	req := question("How is the weather?")
	whole := s.answer(req, nil)
	s.saidWhatTheProviderDid(whole)
	j := s.joined()
	streamed := s.answer(req, j.sink)
	s.sameContent("streamed response differs from the unstreamed one", whole, streamed)
	j.agree(streamed)
}

func testUsage(s *subject) {
	req := question("How is the weather?")
	j := s.joined()
	for what, msg := range map[string]*model.Message{"a response": s.answer(req, nil), "a streamed response": s.answer(req, j.sink)} {
		if want := s.scenario.Answer.Usage; msg.Usage != want && !s.h.Unscripted {
			s.t.Errorf("usage of %s is %+v, provider sent %+v", what, msg.Usage, want)
		}
	}
}
