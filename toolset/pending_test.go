// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

func TestDeferredResultsAreCollected(t *testing.T) {
	var r toolset.DeferredResults
	r.Decide("a", toolset.Deny("no"))
	r.Supply("b", toolset.Result{Text: "3"})
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.JSONEq(t, `{"decisions":{"a":{"verdict":"deny","reason":"no"}},"results":{"b":{"text":"3"}}}`, string(data))
}
