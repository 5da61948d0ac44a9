// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"encoding/json"
	"fmt"

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

// serverTool is a native tool as the API takes it.
type serverTool struct {
	Type           string     `json:"type"`
	Name           string     `json:"name"`
	AllowedCallers []string   `json:"allowed_callers,omitempty"`
	MaxUses        int        `json:"max_uses,omitempty"`
	AllowedDomains []string   `json:"allowed_domains,omitempty"`
	BlockedDomains []string   `json:"blocked_domains,omitempty"`
	Citations      *citations `json:"citations,omitempty"`
}

type citations struct {
	Enabled bool `json:"enabled"`
}

// nativeTool writes a native tool. The model calls the current versions itself. By default, code of
// the model would call them in a container of the provider ("dynamic filtering"). A streamed
// response that waits for one of the program's tools does not name the container, and without its
// name the conversation is refused
// (https://github.com/anthropics/anthropic-sdk-python/issues/1801).
func (m *Model) nativeTool(t *model.NativeTool) serverTool {
	tool := serverTool{
		Type: "web_search_20260318", Name: string(t.Kind), AllowedCallers: []string{"direct"},
		MaxUses: t.MaxUses, AllowedDomains: t.Allowed, BlockedDomains: t.Blocked,
	}
	if m.profile.BasicNativeTools {
		tool.Type, tool.AllowedCallers = "web_search_20250305", nil
	}
	if t.Kind == model.NativeWebFetch {
		tool.Type, tool.Citations = "web_fetch_20260318", &citations{true}
		if m.profile.BasicNativeTools {
			tool.Type = "web_fetch_20250910"
		}
	}
	return tool
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

// compactionAt returns the context_management that compacts a conversation of at least so many
// tokens.
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
