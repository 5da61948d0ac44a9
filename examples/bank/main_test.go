// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

func Example() {
	main()
	// Output: {Text:Ada, you have $123.45. BlockCard:false Risk:1}
}

// The tool shows the balance with or without what is pending.
func TestBalances(t *testing.T) {
	run := &toolset.RunContext[Deps]{Deps: Deps{Customer: 7, DB: new(DB)}}
	for pending, want := range map[bool]string{false: "$100.00", true: "$123.45"} {
		got, err := balance(t.Context(), run, BalanceArgs{Pending: pending})
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	name, err := customerName(t.Context(), run)
	require.NoError(t, err)
	require.Equal(t, "The customer is called Ada.", name)
}
