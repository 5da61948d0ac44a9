// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import "github.com/anthropics/anthropic-sdk-go"

// Cache determines what is written to the provider's prompt cache. Cached input is cheap to read in
// later requests, but writing it costs somewhat more. Prompts that are too short are not cached.
// See [model.Usage.CacheReadTokens].
type Cache string

const (
	// CacheConversation caches tools, instructions and the conversation so far, for runs of several
	// steps. It is the empty string, the default. It sets at most four breakpoints, the API's
	// maximum: after the tools, after the instructions, and after the last two user messages.
	CacheConversation Cache = ""
	// CachePrefix caches only tools and instructions, for conversations of a single step.
	CachePrefix Cache = "prefix"
	// CacheOff caches nothing.
	CacheOff Cache = "off"
)

// mark sets the cache breakpoints. It is called when all blocks are in place.
func (m *Model) mark(params *anthropic.MessageNewParams) {
	if m.cache == CacheOff {
		return
	}
	control := anthropic.NewCacheControlEphemeralParam()
	control.TTL = m.cacheTTL
	if n := len(params.Tools); n > 0 && params.Tools[n-1].OfTool != nil {
		params.Tools[n-1].OfTool.CacheControl = control
	}
	if n := len(params.System); n > 0 {
		params.System[n-1].CacheControl = control
	}
	if m.cache == CachePrefix {
		return
	}
	marks := 2
	for i := len(params.Messages) - 1; i >= 0 && marks > 0; i-- {
		msg := &params.Messages[i]
		if msg.Role == anthropic.MessageParamRoleAssistant || len(msg.Content) == 0 {
			continue
		}
		if at := msg.Content[len(msg.Content)-1].GetCacheControl(); at != nil {
			*at = control
			marks--
		}
	}
}
