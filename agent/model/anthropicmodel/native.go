// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"encoding/json"
	"fmt"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// checkNative checks what the provider is to run itself.
func (m *Model) checkNative(req *model.Request, s *model.Settings) error {
	for i := range s.NativeTools {
		if t := &s.NativeTools[i]; len(t.Allowed) > 0 && len(t.Blocked) > 0 {
			return adapter.Unsupported(m.info, "both allowed and blocked hosts of "+string(t.Kind))
		}
	}
	if s.CompactAt > 0 && s.CompactAt < minCompactAt {
		return adapter.Unsupported(m.info, fmt.Sprintf("a CompactAt of %d below %d", s.CompactAt, minCompactAt))
	}
	return adapter.CheckNative(&m.info, req, s)
}

// nativeTool writes a native tool. The older versions of the tools are used, because the newer ones need the provider's
// code execution.
func nativeTool(t *model.NativeTool) anthropic.ToolUnionParam {
	var uses anthropic.WebSearchTool20250305Param
	if t.MaxUses > 0 {
		uses.MaxUses = anthropic.Int(int64(t.MaxUses))
	}
	if t.Kind == model.NativeWebFetch {
		return anthropic.ToolUnionParam{OfWebFetchTool20250910: &anthropic.WebFetchTool20250910Param{
			MaxUses: uses.MaxUses, AllowedDomains: t.Allowed, BlockedDomains: t.Blocked,
			Citations: anthropic.CitationsConfigParam{Enabled: anthropic.Bool(true)},
		}}
	}
	uses.AllowedDomains, uses.BlockedDomains = t.Allowed, t.Blocked
	return anthropic.ToolUnionParam{OfWebSearchTool20250305: &uses}
}

// hasServerTool reports whether the configuration has a server tool of that name.
func (m *Model) hasServerTool(kind model.NativeKind) bool {
	for _, raw := range m.serverTools {
		var tool struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(raw, &tool) == nil && tool.Name == string(kind) {
			return true
		}
	}
	return false
}

// compactionAt returns the context_management that compacts a conversation of at least so many tokens.
func compactionAt(tokens int) any {
	type trigger struct {
		Type  string `json:"type"`
		Value int    `json:"value"`
	}
	type edit struct {
		Type    string  `json:"type"`
		Trigger trigger `json:"trigger"`
	}
	return map[string][]edit{"edits": {{"compact_20260112", trigger{"input_tokens", tokens}}}}
}
