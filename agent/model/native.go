// SPDX-License-Identifier: Apache-2.0

package model

// NativeKind is a kind of [NativeTool].
type NativeKind string

const (
	// NativeWebSearch searches the web.
	NativeWebSearch NativeKind = "web_search"
	// NativeWebFetch reads pages of the web whose URLs occur in the conversation.
	NativeWebFetch NativeKind = "web_fetch"
)

// NativeTool is a tool that the provider runs itself while it answers ([Settings.NativeTools]).
// Nobody is asked before it runs. Its calls and results are parts of kind [PartOpaque] and its
// sources parts of kind [PartCitation]. [NativeCalls] and [NativeSources] read them.
type NativeTool struct {
	// Kind is the kind of the tool.
	Kind NativeKind `json:"kind"`
	// Allowed and Blocked restrict the hosts, each with its subdomains: "example.com". They require
	// [Info.NativeDomains]. Providers may support only one of them at a time, or only Allowed.
	Allowed []string `json:"allowed,omitempty"`
	Blocked []string `json:"blocked,omitempty"`
	// MaxUses limits how often the tool runs during one request. 0 leaves it to the provider.
	MaxUses int `json:"max_uses,omitempty"`
}
