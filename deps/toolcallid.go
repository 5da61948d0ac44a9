// SPDX-License-Identifier: Apache-2.0

package deps

import (
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
)

// ToolCallID returns the id of a tool call for the client. The id that a model assigns is unique
// only within one response. This id is unique within a session. It depends only on the run, the
// step of the response (starting at 1, see toolset.RunInfo) and the model's id, so everyone derives
// the same one.
func ToolCallID(runID string, step int, callID string) acp.ToolCallID {
	return acp.ToolCallID(runPrefix(runID) + strconv.Itoa(step) + "/" + callID)
}

// runPrefix returns the prefix that the ids of a run's calls share, and no other ids have.
func runPrefix(runID string) string {
	if strings.ContainsAny(runID, "/%") {
		runID = strings.NewReplacer("%", "%25", "/", "%2F").Replace(runID)
	}
	return runID + "/"
}
