// SPDX-License-Identifier: Apache-2.0

package temporalengine

import (
	"fmt"

	"github.com/ponte-go/ponte/agent"
)

// checkOptions refuses options that Input or the engine sets for each run: they would be overwritten, or take effect again with each
// execution of a run.
func checkOptions(options []agent.RunOption) (errs []error) {
	for i, o := range options {
		if name := agent.SingleRunOption(o); name != "" {
			errs = append(errs, fmt.Errorf("temporalengine: Config.Options[%d] is agent.%s: leave it out, because Input or the engine sets that for each run", i, name))
		}
	}
	return errs
}
