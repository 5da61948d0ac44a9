// SPDX-License-Identifier: Apache-2.0

package host

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

// DigestOf returns the digest of a question about a call.
func DigestOf(id string, path []string, tool string, args json.RawMessage, a *model.Approval) string {
	return subject{ID: id, Path: path, Tool: tool, Args: args, Approval: a}.digest()
}
