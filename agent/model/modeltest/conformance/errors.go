// SPDX-License-Identifier: Apache-2.0

package conformance

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
		// An adapter may have to ask once more to learn why it got no stream.
		if n := strings.Count(s.sent()[len(before):], "How is the weather?"); n > 1 && sink == nil {
			s.t.Errorf("the request was sent %d times: the model that Harness.New returns must not retry", n)
		}
		if e.Status != want.Status {
			s.t.Errorf("the status is %d, the provider said %d", e.Status, want.Status)
		}
		if !strings.Contains(err.Error(), want.Message) {
			s.t.Errorf("the error %q does not say what the provider said: %q", err, want.Message)
		}
		if e.Retryable != want.Retryable {
			s.t.Errorf("status %d, code %q: retryable is %t, should be %t", want.Status, want.Code, e.Retryable, want.Retryable)
		}
		if e.RetryAfter != want.RetryAfter {
			s.t.Errorf("status %d: to be tried again after %v, the provider said %v", want.Status, e.RetryAfter, want.RetryAfter)
		}
		for _, id := range []error{model.ErrAuth, model.ErrRateLimited, model.ErrContextLength} {
			if errors.Is(err, id) != want.Is(id) {
				s.t.Errorf("status %d, code %q: the error is %q: %t", want.Status, want.Code, id, !want.Is(id))
			}
		}
	}
}

// apiError checks what holds for every error of a provider.
func (s *subject) apiError(err error) *model.APIError {
	s.t.Helper()
	var e *model.APIError
	if !errors.As(err, &e) {
		s.t.Fatalf("the error is no APIError but %T: %v", err, err)
	}
	if info := s.m.Info(); e.Provider != info.Provider || e.Model != info.Name {
		s.t.Errorf("the error is from %q %q, the model is %q %q", e.Provider, e.Model, info.Provider, info.Name)
	}
	if strings.Contains(err.Error(), "\n") {
		s.t.Errorf("the error has several lines: %q", err.Error())
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
			s.t.Errorf("a model without a provider failed while requests were forbidden: %v", err)
		}
	case !errors.Is(err, model.ErrRequestsForbidden):
		s.t.Errorf("while requests were forbidden Generate returned: %v", err)
	case s.sent() != "":
		s.t.Errorf("while requests were forbidden this was sent: %q", s.sent())
	}
}
