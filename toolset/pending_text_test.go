// SPDX-License-Identifier: Apache-2.0

package toolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

func TestPendingErrorsNameTheirCalls(t *testing.T) {
	err := &toolset.PendingError{Calls: []toolset.PendingCall{
		{Tool: "pay", ID: "1"}, {Tool: "book", ID: "2", Path: []string{"inner", "2"}},
	}}
	require.EqualError(t, err, `waiting for calls inside the tool: "pay" (1), "book" (/inner/2)`)
}
