// SPDX-License-Identifier: Apache-2.0

package openaimodel

import "github.com/ponte-go/ponte/agent/model"

// ResponsesBody returns the body that m would send.
func ResponsesBody(m *Responses, req *model.Request, stream bool) ([]byte, error) {
	return m.appendRequest(req, m.settings.Merge(req.Settings), stream)
}
