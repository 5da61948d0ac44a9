// SPDX-License-Identifier: Apache-2.0

package modeltest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ponte-go/ponte/agent/model"
)

var errCause = errors.New("the user has left")

func testContextEnded(s *subject) {
	ctx, cancel := context.WithCancelCause(s.t.Context())
	cancel(errCause)
	for _, sink := range []model.Sink{nil, func(model.Delta) error {
		s.t.Error("the sink was called")
		return nil
	}} {
		s.endsWith(ctx, sink, errCause)
	}
}

// endsWith makes a request that must end with its context.
func (s *subject) endsWith(ctx context.Context, sink model.Sink, cause error) {
	s.t.Helper()
	_, err := s.generate(ctx, question("How is the weather?"), sink)
	if !errors.Is(err, cause) {
		s.t.Errorf("context ended because of %q, but Generate returned: %v", cause, err)
	}
}

func testContextWaiting(s *subject) {
	for name, sink := range map[string]model.Sink{"complete": nil, "streamed": func(model.Delta) error { return nil }} {
		for end, begin := range map[string]func(t testing.TB) (context.Context, error){
			"cancelled": func(t testing.TB) (context.Context, error) {
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(20*time.Millisecond, func() { cancel(errCause) })
				return ctx, errCause
			},
			"deadline": func(t testing.TB) (context.Context, error) {
				ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
				t.Cleanup(cancel)
				return ctx, context.DeadlineExceeded
			},
		} {
			s.run(name+", "+end, func(s *subject) {
				s.soon("Generate with a context that ended", func() {
					ctx, cause := begin(s.t)
					s.endsWith(ctx, sink, cause)
				})
			})
		}
	}
}

// testContextStreaming cancels the context at the first delta. The rest of the stream must not hide
// that.
func testContextStreaming(s *subject) {
	bound, stop := s.patient()
	defer stop()
	ctx, cancel := context.WithCancelCause(bound)
	defer cancel(nil)
	s.soon("Generate with a context that ended", func() {
		s.endsWith(ctx, func(model.Delta) error {
			cancel(errCause)
			return nil
		}, errCause)
	})
}
