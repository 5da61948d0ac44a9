// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"errors"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

func testRefusal(s *subject) {
	want := s.scenario.Error
	for _, sink := range []model.Sink{nil, func(model.Delta) error {
		s.t.Error("the sink was called")
		return nil
	}} {
		before := s.sent()
		_, err := s.generate(s.t.Context(), question("How is the weather?"), sink)
		e := s.apiError(err)
		// An adapter may send one more request to find out why there was no stream.
		if n := strings.Count(s.sent()[len(before):], "How is the weather?"); n > 1 && sink == nil {
			s.t.Errorf("request was sent %d times; the model returned by Harness.New must not retry", n)
		}
		if e.Status != want.Status {
			s.t.Errorf("status is %d, provider sent %d", e.Status, want.Status)
		}
		if !strings.Contains(err.Error(), want.Message) {
			s.t.Errorf("error %q does not contain the provider's message %q", err, want.Message)
		}
		if e.Retryable != want.Retryable {
			s.t.Errorf("status %d, code %q: Retryable is %t, want %t", want.Status, want.Code, e.Retryable, want.Retryable)
		}
		if e.RetryAfter != want.RetryAfter {
			s.t.Errorf("status %d: RetryAfter is %v, provider sent %v", want.Status, e.RetryAfter, want.RetryAfter)
		}
		for _, id := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength} {
			if errors.Is(err, id) != want.Is(id) {
				s.t.Errorf("status %d, code %q: errors.Is %q is %t", want.Status, want.Code, id, !want.Is(id))
			}
		}
	}
}

// apiError checks the rules that apply to every error of a provider.
func (s *subject) apiError(err error) *model.APIError {
	s.t.Helper()
	var e *model.APIError
	if !errors.As(err, &e) {
		s.t.Fatalf("error is not an APIError but %T: %v", err, err)
	}
	if info := s.m.Info(); e.Provider != info.Provider || e.Model != info.Name {
		s.t.Errorf("error names provider %q and model %q, want %q and %q", e.Provider, e.Model, info.Provider, info.Name)
	}
	if strings.Contains(err.Error(), "\n") {
		s.t.Errorf("error has several lines: %q", err.Error())
	}
	return e
}

func testForbidden(s *subject) {
	s.model()
	restore := model.ForbidRequests()
	defer restore()
	for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
		s.forbidden(sink)
	}
}

func (s *subject) forbidden(sink model.Sink) {
	s.t.Helper()
	_, err := s.generate(s.t.Context(), question("How is the weather?"), sink)
	switch {
	case !s.h.Provider:
		if err != nil {
			s.t.Errorf("model without a provider failed while requests were forbidden: %v", err)
		}
	case !errors.Is(err, model.ErrRequestsForbidden):
		s.t.Errorf("while requests were forbidden Generate returned: %v", err)
	case s.sent() != "":
		s.t.Errorf("while requests were forbidden this was sent: %q", s.sent())
	}
}
