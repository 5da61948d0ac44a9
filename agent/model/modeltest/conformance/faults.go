// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

func testErrorWithinStream(s *subject) {
	j := s.joined()
	_, err := s.generate(s.t.Context(), question("How is the weather?"), j.sink)
	s.apiError(err)
	if !strings.Contains(err.Error(), s.scenario.Error.Message) {
		s.t.Errorf("the error %q does not say what the provider said: %q", err, s.scenario.Error.Message)
	}
	j.beginning("the error")
}

// mayPass checks the error for an answer that broke off or was none: the same request may be answered well.
func (s *subject) mayPass(err error) {
	s.t.Helper()
	if e := s.apiError(err); !e.Retryable {
		s.t.Errorf("the error is not retryable: %v", err)
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
		s.t.Errorf("there is no answer, but the sink has seen %s", describeParts(j.parts))
	}
}

// testCompleteAnswer compares both a complete and a streamed answer with what the provider said.
func testCompleteAnswer(s *subject) {
	req := question("How is the weather?")
	whole := s.answer(req, nil)
	s.saidWhatTheProviderDid(whole)
	j := s.joined()
	streamed := s.answer(req, j.sink)
	s.sameContent("the streamed answer differs from the one in one piece", whole, streamed)
	j.agree(streamed)
}

func testUsage(s *subject) {
	req := question("How is the weather?")
	j := s.joined()
	for what, msg := range map[string]*model.Message{"an answer": s.answer(req, nil), "a streamed answer": s.answer(req, j.sink)} {
		if want := s.scenario.Answer.Usage; msg.Usage != want && !s.h.Unscripted {
			s.t.Errorf("the usage of %s is %+v, the provider said %+v", what, msg.Usage, want)
		}
	}
}
