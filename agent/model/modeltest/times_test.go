// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// The suite waits for calls of the sink that must not come, a hundredth of a second.
func TestTheSuiteWaitsForLateCallsOfTheSink(t *testing.T) {
	for _, late := range []time.Duration{0, time.Millisecond, 10*time.Millisecond - 1} {
		got, _ := conformOf(t, "The sink is called on the caller's goroutine, and never after Generate", nil, func(_ testing.TB, p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				msg, err := next(ctx, req, sink)
				time.AfterFunc(late, func() { _ = sink(model.Delta{}) })
				return msg, err
			})
		})
		require.NotEmpty(t, got.problems, late)
	}
}

// Contexts end when the rules say: those of waiting requests after a fiftieth of a second, those of models that may be broken
// after a minute.
func TestContextsOfTheSuiteEndInTime(t *testing.T) {
	for rule, want := range map[string]map[time.Duration]int{
		"Generate ends with its context while it waits":                          {20 * time.Millisecond: 8},
		"An error of the sink does not wait for the provider":                    {time.Minute: 1},
		"The sink is called on the caller's goroutine, and never after Generate": {time.Minute: 2},
		"Generate ends with its context within a stream":                         {time.Minute: 2},
	} {
		took := map[time.Duration]int{}
		found, _ := conformOf(t, rule, nil, func(_ testing.TB, p *provider) model.Model {
			return around(p, func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				if want[time.Minute] > 0 {
					deadline, ok := ctx.Deadline()
					require.True(t, ok)
					took[time.Until(deadline)]++
					return next(ctx, req, sink)
				}
				begin := time.Now()
				msg, err := next(ctx, req, sink)
				took[time.Since(begin)]++
				return msg, err
			})
		})
		require.Empty(t, found.problems, rule)
		require.Equal(t, want, took, rule)
	}
}
