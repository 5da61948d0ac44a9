// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"encoding/base64"
	"errors"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// bothWays tests what is sent for an unstreamed and a streamed response: adapters may have separate
// code for each.
func bothWays(test func(*subject)) func(*subject) {
	return func(s *subject) {
		s.t.Helper()
		s.needsSent()
		for name, sink := range map[string]model.Sink{"complete": nil, "streamed": func(model.Delta) error { return nil }} {
			s.run(name, func(s *subject) {
				s.sink = sink
				test(s)
			})
		}
	}
}

// needsSent skips the test if what is sent is not known.
func (s *subject) needsSent() {
	s.t.Helper()
	s.model() // may have a better reason to skip
	if s.h.Sent == nil {
		s.t.Skip("the harness has no Sent")
	}
}

// sent returns what has been sent so far, or nothing if that is not known.
func (s *subject) sent() string {
	s.t.Helper()
	s.model()
	if s.h.Sent == nil {
		return ""
	}
	return s.h.Sent(s.origin)
}

// wire makes a request, streamed or not as the test says, and returns what was sent for it.
func (s *subject) wire(req *model.Request) (string, error) {
	s.t.Helper()
	s.needsSent()
	before := len(s.sent())
	_, err := s.generate(s.t.Context(), req, s.sink)
	return s.sent()[before:], err
}

// mustSend makes a request that must be answered and returns what was sent for it.
func (s *subject) mustSend(req *model.Request) string {
	s.t.Helper()
	sent, err := s.wire(req)
	if err != nil {
		s.t.Fatalf("Generate failed: %v", err)
	}
	return sent
}

// sentOrRefused makes a request and returns what was sent for it. It returns false if the model
// returned an error before sending.
func (s *subject) sentOrRefused(what string, req *model.Request) (string, bool) {
	s.t.Helper()
	sent, err := s.wire(req)
	switch {
	case err == nil:
		return sent, true
	case !errors.Is(err, model.ErrUnsupported):
		s.t.Errorf("%s: error is %v: neither a response nor %v", what, err, model.ErrUnsupported)
	case sent != "":
		s.t.Errorf("%s was an error, but only after sending: %.2000s", what, sent)
	}
	return "", false
}

// refuse makes a request that must fail before it is sent.
func (s *subject) refuse(what string, req *model.Request) {
	s.t.Helper()
	if sent, ok := s.sentOrRefused(what, req); ok {
		s.t.Errorf("%s was accepted; was sent: %.2000s", what, sent)
	}
}

// carries reports whether data was sent, unchanged or in base64.
func carries(sent string, data []byte) bool {
	return position(sent, data) >= 0
}

func position(sent string, data []byte) int {
	if at := strings.Index(sent, string(data)); at >= 0 {
		return at
	}
	return strings.Index(sent, base64.StdEncoding.EncodeToString(data))
}
