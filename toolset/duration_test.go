// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

type timer struct {
	Wait  time.Duration            `json:"wait" validate:"min=1s"`
	Times map[string]time.Duration `json:"times,omitempty"`
	Retry time.Duration            `json:"retry" default:"5s"`
}

func TestDurationsAreTextForModelsInArgumentsAndResults(t *testing.T) {
	tool := toolset.Plain[struct{}]("timer", "Start a timer.", func(_ context.Context, in timer) (timer, error) {
		in.Wait *= 2
		return in, nil
	})
	require.NoError(t, tool.Err())
	args, err := tool.Decode([]byte(`{"wait":"45m","times":{"a":"1.5s"}}`))
	require.NoError(t, err)
	require.Equal(t, &timer{45 * time.Minute, map[string]time.Duration{"a": 1500 * time.Millisecond}, 5 * time.Second}, args)
	result, err := tool.Call(t.Context(), &toolset.RunContext[struct{}]{}, args)
	require.NoError(t, err)
	require.JSONEq(t, `{"wait":"1h30m0s","times":{"a":"1.5s"},"retry":"5s"}`, result.Text)
	again, err := tool.Decode([]byte(result.Text))
	require.NoError(t, err)
	require.Equal(t, 90*time.Minute, again.(*timer).Wait)

	plain := toolset.Plain[struct{}]("wait", "Wait.", func(context.Context, struct{}) (time.Duration, error) { return time.Minute, nil })
	result, err = plain.Call(t.Context(), &toolset.RunContext[struct{}]{}, &struct{}{})
	require.NoError(t, err)
	require.Equal(t, `"1m0s"`, result.Text)
}
