// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/agent/evals/evalstest"
)

func TestMoods(t *testing.T) {
	evalstest.Test(t, moods, evals.Agent(judge, nil), evalstest.Options{PassRate: 0.7})
}

func Example() {
	main()
	// Output:
	// moods: 4 cases, 4 trials, 0 failed, 0 unavailable, 0 stopped or not run; 4 requests, 0 tokens
	//
	// metric  mean  95 % interval     trials  cases
	// equal   0.75  0.3006 to 0.9544  4       4
	//
	// case   not passed  reason
	// irony  equal       it is {"mood":"good"}, want {"mood":"bad"}
}
