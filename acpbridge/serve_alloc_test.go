// SPDX-License-Identifier: Apache-2.0

//go:build !race

package acpbridge_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestTextDeltaCostsNoAllocation(t *testing.T) {
	cost := func(n int) float64 {
		run := turnOf(t, &n)
		return testing.AllocsPerRun(5, run)
	}
	const few, many = 1000, 11_000
	each := (cost(many) - cost(few)) / (many - few)
	t.Logf("%.2f allocations", each)
	assert.Less(t, each, 0.5, "from the model to the wire")
}
