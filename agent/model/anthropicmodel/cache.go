// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import "github.com/anthropics/anthropic-sdk-go"

// Cache says what is written to the provider's prompt cache. What was written is cheap to read in the next request, and
// somewhat dearer to write than not to; too short a prompt is not cached. See [model.Usage.CacheReadTokens].
type Cache string

const (
	// CacheConversation caches tools, instructions and the conversation so far, for runs of several steps. It is the empty
	// string, the default. It sets at most four marks, which is what the API takes: behind the tools, behind the
	// instructions, and behind the last two messages of the user.
	CacheConversation Cache = ""
	// CachePrefix caches tools and instructions alone, for conversations of one step.
	CachePrefix Cache = "prefix"
	// CacheOff caches nothing.
	CacheOff Cache = "off"
)

// mark sets the breakpoints of the cache. It comes last, when all blocks are in place.
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
