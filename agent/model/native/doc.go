// SPDX-License-Identifier: Apache-2.0

// Package native reads what providers say of the tools that they run themselves ([model.NativeTool]): which calls they
// made, which sources they name for which text, and where they compacted the conversation.
//
// Providers say it in parts of kind [model.PartOpaque] and [model.PartCitation], which keep the provider's own JSON,
// because it must be sent back unchanged. This package knows the forms of OpenAI, Anthropic and Google. It is for user
// interfaces: nothing that it returns is needed to continue a conversation, and what it does not know it leaves out. All
// texts come from the provider and from the web. Escape them where they are shown.
package native
