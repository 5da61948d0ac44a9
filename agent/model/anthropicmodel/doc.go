// Package anthropicmodel asks Anthropic's models through the official SDK.
package anthropicmodel
