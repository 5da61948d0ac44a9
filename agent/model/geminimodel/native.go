// SPDX-License-Identifier: Apache-2.0

package geminimodel

import (
	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// nativeTools returns the tools that the provider is to run itself. Together with other tools, it
// sends their calls and results as parts, which have to be sent back.
func (m *Model) nativeTools(req *model.Request, s *model.Settings) ([]*genai.Tool, error) {
	can := m.info
	can.NativeSearch, can.NativeFetch = m.profile.NativeTools, m.profile.NativeTools
	can.NativeDomains = m.backend == VertexAI // blocked ones only, see below
	if err := adapter.CheckNative(&can, req, s); err != nil {
		return nil, err
	}
	if len(s.NativeTools) > 0 && len(req.Tools) > 0 && !m.profile.NativeWithTools {
		return nil, adapter.Unsupported(m.info, "native tools together with other tools")
	}
	var tools []*genai.Tool
	for i := range s.NativeTools {
		t := &s.NativeTools[i]
		switch {
		case t.MaxUses > 0:
			return nil, adapter.Unsupported(m.info, "limiting the uses of "+string(t.Kind))
		case len(t.Allowed) > 0, len(t.Blocked) > 0 && t.Kind != model.NativeWebSearch:
			return nil, adapter.Unsupported(m.info, "restricting hosts of "+string(t.Kind))
		case t.Kind == model.NativeWebSearch:
			tools = append(tools, &genai.Tool{GoogleSearch: &genai.GoogleSearch{ExcludeDomains: t.Blocked}})
		default:
			tools = append(tools, &genai.Tool{URLContext: &genai.URLContext{}})
		}
	}
	return tools, nil
}
