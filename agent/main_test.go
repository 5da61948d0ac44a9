// SPDX-License-Identifier: Apache-2.0

package agent_test

import (
	"fmt"
	"os"
	"testing"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) {
	code := leaktest.Run(m)
	if !agent.NoMoreIsEmpty() {
		fmt.Fprintln(os.Stderr, "an option was set for all runs: options are set through runOptions.more")
		code = 1
	}
	os.Exit(code)
}
