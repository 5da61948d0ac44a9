// SPDX-License-Identifier: Apache-2.0

package model_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

func TestImpossibleSettingsAreErrors(t *testing.T) {
	require.NoError(t, (*model.Settings)(nil).Check())
	require.NoError(t, (&model.Settings{MaxTokens: 1, Temperature: new(0.5), CompactAt: 1, ExtraHeaders: map[string]string{"X-A": "b\tc"}}).Check())
	var all model.Settings
	bad := map[string]model.Settings{
		"the setting MaxTokens is -3, must not be negative":          {MaxTokens: -3},
		"the setting CompactAt is -1, must not be negative":          {CompactAt: -1},
		"the setting Temperature is NaN, must be a number":           {Temperature: new(math.NaN())},
		"the setting TopP is +Inf, must be a number":                 {TopP: new(math.Inf(1))},
		`the setting ExtraBody["a"] is not valid JSON`:               {ExtraBody: map[string]json.RawMessage{"a": json.RawMessage("{")}},
		`the setting ExtraHeaders["a b"] is not a valid header`:      {ExtraHeaders: map[string]string{"a b": "c"}},
		`the setting ExtraHeaders["X-Line"] is not a valid header`:   {ExtraHeaders: map[string]string{"X-Line": "a\nb"}},
		`the setting ExtraHeaders["X-Delete"] is not a valid header`: {ExtraHeaders: map[string]string{"X-Delete": "\x7f"}},
		`the setting ExtraHeaders["X-\x7f"] is not a valid header`:   {ExtraHeaders: map[string]string{"X-\x7f": "a"}},
		`the setting ExtraHeaders[""] is not a valid header`:         {ExtraHeaders: map[string]string{"": "a"}},
		`the setting ExtraHeaders["X-Colon:"] is not a valid header`: {ExtraHeaders: map[string]string{"X-Colon:": "a"}},
	}
	for says, s := range bad {
		require.EqualError(t, s.Check(), says)
		all = *all.Merge(&s)
	}
	for range 10 {
		err := all.Check()
		for says := range bad {
			says, _, _ = strings.Cut(says, "[") // of several headers it names one
			require.ErrorContains(t, err, says)
		}
		require.Equal(t, err.Error(), all.Check().Error(), "the order is always the same")
	}
}
