// Package anthropicmodel asks Anthropic's models through the official SDK.
package anthropicmodel

import _ "github.com/anthropics/anthropic-sdk-go" // pinned; the model follows
