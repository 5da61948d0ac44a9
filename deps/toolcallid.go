// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// ToolCallID returns the id by which the client knows a tool call. The id that a model gives to a call is unique within
// one response only; this one is unique within a session, and the same for everybody who knows the run, the step of the
// response (beginning with 1, see toolset.RunInfo) and the call.
func ToolCallID(runID string, step int, callID string) acp.ToolCallID {
	return acp.ToolCallID(runPrefix(runID) + strconv.Itoa(step) + "/" + callID)
}

// runPrefix is what the ids of a run's calls begin with, and those of no other run.
func runPrefix(runID string) string {
	if strings.ContainsAny(runID, "/%") {
		runID = strings.NewReplacer("%", "%25", "/", "%2F").Replace(runID)
	}
	return runID + "/"
}
