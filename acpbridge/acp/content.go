// SPDX-License-Identifier: Apache-2.0

package acp

// TextBlock returns the content block that is the text.
func TextBlock(text string) ContentBlock { return ContentBlock{Text: &TextContent{Text: text}} }

// TextChunk returns the update that appends text to the agent's message.
func TextChunk(text string) SessionUpdate {
	return SessionUpdate{AgentMessageChunk: &ContentChunk{Content: TextBlock(text)}}
}

// ThoughtChunk returns the update that appends text to what the agent thinks aloud.
func ThoughtChunk(text string) SessionUpdate {
	return SessionUpdate{AgentThoughtChunk: &ContentChunk{Content: TextBlock(text)}}
}
