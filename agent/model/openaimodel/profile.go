// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"cmp"
	"encoding/json"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/adapter"
	"github.com/ponte-go/ponte/internal/errs"
	"github.com/ponte-go/ponte/internal/header"
)

// Profile describes one variety of the Chat Completions protocol. To change it, modify the profile
// that [ProfileFor] returns and set [Config.Profile]. Variations that a profile does not describe,
// such as the forms of streamed tool calls, errors and reasoning, are always understood.
type Profile struct {
	// Provider is the default of [Config.Provider]. If empty, it is the host of the base URL.
	Provider string
	// MaxTokensField is the field for [model.Settings.MaxTokens]: "max_tokens" or
	// "max_completion_tokens".
	MaxTokensField string
	// SeedField is the field for [model.Settings.Seed]: "seed" or "random_seed".
	SeedField string
	// SystemRole is the role of instructions: "system" or "developer".
	SystemRole string
	// StreamUsage requests usage in streams (stream_options.include_usage).
	StreamUsage bool
	// NativeOutput is [model.Info.NativeOutput]: response_format accepts a JSON schema.
	NativeOutput bool
	// Strict sends the strict flag of tools and output schemas. Otherwise it is left out.
	Strict bool
	// NamedToolChoice reports that tool_choice may name a tool. Otherwise, naming a tool works only
	// if it is the only one offered.
	NamedToolChoice bool
	// RequiredToolChoice is the value of tool_choice that requires a call of some tool: "required"
	// or "any". If empty, the endpoint ignores tool_choice ([model.Info.NoForcedCalls]): a choice
	// that requires a call is an error, and tools that must not be called are not sent.
	RequiredToolChoice string
	// CallIDLength is the exact number of letters and digits in a call id in the history. 0 allows
	// any length up to CallIDMax. Other ids are replaced, consistently for a call and its result,
	// and always by the same id.
	CallIDLength int
	// CallIDMax is the maximum number of letters, digits, underscores and hyphens in a call id in
	// the history. 0 means that no limit is known: the provider's own ids are sent back unchanged,
	// and others are limited to 40. [NewResponses] has its own limit, 64.
	CallIDMax int
	// AssistantAfterTools adds a short assistant message between tool results and a user or system
	// message, for endpoints that accept only an assistant message after results.
	AssistantAfterTools bool
	// ReasoningField is the field for sending thinking back: "reasoning_content" or "reasoning".
	// Both are read.
	ReasoningField string
	// SendReasoning determines when thinking is sent back to the provider that made it.
	SendReasoning SendReasoning
	// ReasoningDetails sends opaque reasoning_details back to the provider that made them.
	ReasoningDetails bool
	// ResponseImages sends images in a response back to the provider that made them, in the field
	// "images". Otherwise the response has a note in their place.
	ResponseImages bool
	// Thinking maps each level of [model.Settings.Thinking] that the provider supports to a JSON
	// object, whose members are added to the request's body. The object may be empty. Other levels
	// are errors.
	Thinking map[string]json.RawMessage
	// Unsupported lists fields that the endpoint does not support: "seed", "parallel_tool_calls",
	// "service_tier", "stop", "temperature", "top_p". Settings that need them are errors.
	Unsupported []string
	// Media is [model.Info.Media]. This package supports "image", "audio" (WAV and MP3) and
	// "application/pdf".
	Media []string
	// MediaURLs lists the kinds in Media that may be sent as a URL instead of data: "image",
	// "application/pdf".
	MediaURLs []string
	// Native reports that the endpoint searches the web and compacts conversations itself. It
	// applies to [NewResponses].
	Native bool
	// KeyHeader is the header for [Config.APIKey]. If empty, the key is sent in Authorization, as a
	// bearer token.
	KeyHeader string
}

// SendReasoning determines when thinking is sent back to the provider that made it.
type SendReasoning string

const (
	// SendReasoningNever never sends thinking. It is the empty string.
	SendReasoningNever SendReasoning = ""
	// SendReasoningWithCalls sends it with messages that call tools, as an empty string if there
	// was none. DeepSeek returns an error for a history without it.
	SendReasoningWithCalls SendReasoning = "with_calls"
	// SendReasoningAlways sends it with every message that has any.
	SendReasoningAlways SendReasoning = "always"
)

// ProfileFor returns the profile of a provider. The name is one of those in the table of the
// package documentation. For any other name, the host of baseURL decides: its domain, the name of a
// local server, or the usual port of Ollama or LM Studio. Otherwise ProfileFor returns the generic
// profile, which allows everything in the protocol. The result shares no memory with other results.
// See [Profile.ForModel] for the limitations of individual models.
func ProfileFor(provider, baseURL string) Profile {
	name := provider
	if providerOf(name) == nil {
		name = detectProvider(baseURL)
	}
	p := Profile{
		Provider:           name,
		MaxTokensField:     "max_tokens",
		SeedField:          "seed",
		SystemRole:         "system",
		StreamUsage:        true,
		NativeOutput:       true,
		Strict:             true,
		NamedToolChoice:    true,
		RequiredToolChoice: "required",
		ReasoningField:     "reasoning_content",
		Thinking:           effort("none", "minimal", "low", "medium", "high"),
		Media:              []string{"image", "audio", "application/pdf"},
		MediaURLs:          []string{"image"},
	}
	if known := providerOf(name); known != nil && known.differs != nil {
		known.differs(&p)
	}
	return p
}

// thinkingLevels are the levels in the order of effort's arguments.
var thinkingLevels = [...]string{"off", "minimal", "low", "medium", "high"}

// effort maps levels to values of the field reasoning_effort. Levels with an empty value are left
// out. Inlined, it would make every program three kilobytes larger.
//
//go:noinline
func effort(off, minimal, low, medium, high string) map[string]json.RawMessage {
	levels := map[string]json.RawMessage{}
	for i, value := range [...]string{off, minimal, low, medium, high} {
		if value != "" {
			levels[thinkingLevels[i]] = json.RawMessage(`{"reasoning_effort":"` + value + `"}`)
		}
	}
	return levels
}

func detectProvider(baseURL string) string {
	if baseURL == "" {
		return "openai"
	}
	u, err := url.Parse(baseURL)
	if err != nil {
		return ""
	}
	host := strings.ToLower(u.Hostname())
	for i := range providers {
		if slices.ContainsFunc(providers[i].domains, func(domain string) bool { return inDomain(host, domain) }) {
			return providers[i].name
		}
	}
	switch {
	case strings.HasPrefix(host, "bedrock-runtime") && inDomain(host, "amazonaws.com"):
		return "bedrock"
	case u.Port() == "11434":
		return "ollama"
	case u.Port() == "1234" && isLocal(host):
		return "lmstudio"
	}
	// A container or machine is often named after its server.
	label, _, _ := strings.Cut(host, ".")
	label = strings.NewReplacer("-", "", "_", "").Replace(label)
	if slices.Contains([]string{"ollama", "vllm", "llamacpp", "lmstudio"}, label) {
		return label
	}
	return ""
}

func inDomain(host, domain string) bool {
	return host == domain || strings.HasSuffix(host, "."+domain)
}

func isLocal(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || host == "host.docker.internal" || ip != nil && (ip.IsLoopback() || ip.IsPrivate())
}

func (p *Profile) check() error {
	reasoning := p.ReasoningField
	if p.SendReasoning == SendReasoningNever {
		reasoning = "reasoning" // it is not used
	}
	for _, f := range [...]struct{ name, value, valid string }{
		{"MaxTokensField", p.MaxTokensField, "max_tokens max_completion_tokens"},
		{"SeedField", p.SeedField, "seed random_seed"},
		{"RequiredToolChoice", cmp.Or(p.RequiredToolChoice, "any"), "required any"},
		{"SystemRole", p.SystemRole, "system developer"},
		{"SendReasoning", cmp.Or(string(p.SendReasoning), "always"), "with_calls always"},
		{"ReasoningField", reasoning, "reasoning_content reasoning"},
	} {
		if !slices.Contains(strings.Fields(f.valid), f.value) {
			return errs.Errorf("openaimodel: Profile.%s is %q, must be one of %q; start from ProfileFor and change what differs", f.name, f.value, strings.Fields(f.valid))
		}
	}
	if p.CallIDLength != 0 && (p.CallIDLength < minCallID || p.CallIDLength > maxExactCallID) {
		return errs.Errorf("openaimodel: Profile.CallIDLength is %d, must be 0, or from %d to %d", p.CallIDLength, minCallID, maxExactCallID)
	}
	if p.CallIDMax != 0 && p.CallIDMax < minCallID {
		return errs.Errorf("openaimodel: Profile.CallIDMax is %d, must be 0, or at least %d", p.CallIDMax, minCallID)
	}
	if p.KeyHeader != "" && !header.Valid(p.KeyHeader, "") {
		return errs.Errorf("openaimodel: Profile.KeyHeader %q is not a valid header name", p.KeyHeader)
	}
	for _, level := range adapter.SortedKeys(p.Thinking) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(p.Thinking[level], &members); err != nil || members == nil {
			return errs.Errorf("openaimodel: Profile.Thinking[%q] is not a JSON object", level)
		}
	}
	return nil
}

// An invalid call id is replaced by a hash of 32 characters, which is useless if it is cut too
// short.
const minCallID, maxExactCallID = 8, 32

// callIDs returns the rule for call ids in Chat Completions.
func (p *Profile) callIDs() adapter.IDRule {
	if p.CallIDLength > 0 {
		return adapter.IDRule{Max: p.CallIDLength, Exact: true}
	}
	return adapter.IDRule{Max: p.CallIDMax}
}

func (p *Profile) clone() Profile {
	c := *p
	c.Thinking = maps.Clone(p.Thinking)
	c.Unsupported, c.Media, c.MediaURLs = slices.Clone(p.Unsupported), slices.Clone(p.Media), slices.Clone(p.MediaURLs)
	return c
}
