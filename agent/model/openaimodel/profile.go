// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/internal/adapter"
)

// Profile describes one variety of the Chat Completions protocol, as data. To change one switch, change the profile
// that [ProfileFor] returns and set it as [Config.Profile]. What a profile does not say, such as the many shapes of
// streamed tool calls, of errors and of reasoning fields, is understood whatever the profile.
type Profile struct {
	// Provider is the default of [Config.Provider]. Empty means the host of the base URL.
	Provider string
	// MaxTokensField is the field of [model.Settings.MaxTokens]: "max_tokens" or "max_completion_tokens".
	MaxTokensField string
	// SeedField is the field of [model.Settings.Seed]: "seed" or "random_seed".
	SeedField string
	// SystemRole is the role of instructions: "system" or "developer".
	SystemRole string
	// StreamUsage asks for usage in streams (stream_options.include_usage).
	StreamUsage bool
	// NativeOutput is [model.Info.NativeOutput]: response_format takes a JSON schema.
	NativeOutput bool
	// Strict sends the strict flag of tools and output schemas where it is set. Without it the flag is left out.
	Strict bool
	// NamedToolChoice says that tool_choice may name a tool. Without it, naming a tool works only if no other tool
	// is offered.
	NamedToolChoice bool
	// RequiredToolChoice is the value of tool_choice that demands a call of some tool: "required" or "any". Empty means that
	// the endpoint ignores tool_choice ([model.Info.NoForcedCalls]): a choice that demands a call is refused, and tools that
	// must not be called are not sent.
	RequiredToolChoice string
	// CallIDLength is how many letters and digits the id of a call in the history must have. 0 takes ids of any length, up to
	// CallIDMax. Ids that do not fit are replaced, a call's and its result's by the same one, and each time alike.
	CallIDLength int
	// CallIDMax is how many letters, digits, underscores and hyphens the id of a call in the history may have. 0 means that
	// no bound is known: the provider's own ids go back to it as they are, and others are held to 40. [NewResponses] has a
	// bound of its own, 64.
	CallIDMax int
	// AssistantAfterTools puts a short assistant message between the results of tools and a message of the user or the
	// system, where the endpoint takes only an assistant's behind results.
	AssistantAfterTools bool
	// ReasoningField is the field in which thinking goes back: "reasoning_content" or "reasoning". Both are read.
	ReasoningField string
	// SendReasoning says when the thinking that this provider made goes back to it.
	SendReasoning SendReasoning
	// ReasoningDetails sends back the opaque reasoning_details that this provider made.
	ReasoningDetails bool
	// Thinking has, for each level of [model.Settings.Thinking] that the provider knows, the members that are added
	// to the request's body, as a JSON object, which may be empty. Other levels are refused.
	Thinking map[string]json.RawMessage
	// Unsupported lists fields of the wire that the endpoint does not know, or refuses: "seed", "parallel_tool_calls",
	// "service_tier", "stop", "temperature", "top_p". Settings that need them are refused.
	Unsupported []string
	// Media is [model.Info.Media]. This package can send "image", "audio" (WAV and MP3) and "application/pdf".
	Media []string
	// MediaURLs lists what of Media may be sent as a URL rather than as data: "image", "application/pdf".
	MediaURLs []string
	// KeyHeader is the header of [Config.APIKey]. Empty means Authorization, as a bearer token.
	KeyHeader string
}

// SendReasoning says when thinking goes back to the provider that made it.
type SendReasoning string

const (
	// SendReasoningNever leaves thinking out. It is the empty string.
	SendReasoningNever SendReasoning = ""
	// SendReasoningWithCalls sends it with messages that call tools, empty if there was none: DeepSeek refuses a
	// history without it.
	SendReasoningWithCalls SendReasoning = "with_calls"
	// SendReasoningAlways sends it with every message that has any.
	SendReasoningAlways SendReasoning = "always"
)

// ProfileFor returns the profile of a provider by its name, one of those in the table of the package's documentation; with
// another name or none, the one that the host of baseURL gives away (its domain, the name of a local server, or the port that
// Ollama and LM Studio are known by); otherwise the generic one, which refuses nothing that the protocol has. The result
// shares nothing with other results. See [Profile.ForModel] for what is particular to a model.
func ProfileFor(provider, baseURL string) Profile {
	name := provider
	if _, known := providers[name]; !known {
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
	if differs := providers[name].differs; differs != nil {
		differs(&p)
	}
	return p
}

// effort maps levels to values of the field reasoning_effort. An empty value leaves the level out.
func effort(off, minimal, low, medium, high string) map[string]json.RawMessage {
	levels := map[string]json.RawMessage{}
	for level, value := range map[string]string{"off": off, "minimal": minimal, "low": low, "medium": medium, "high": high} {
		if value != "" {
			levels[level] = json.RawMessage(`{"reasoning_effort":"` + value + `"}`)
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
	for name, p := range providers {
		if slices.ContainsFunc(p.domains, func(domain string) bool { return inDomain(host, domain) }) {
			return name
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
	// A container or machine is often named after the server that it runs.
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
	if !slices.Contains([]string{"max_tokens", "max_completion_tokens"}, p.MaxTokensField) {
		return fmt.Errorf("openaimodel: Profile.MaxTokensField is %q: begin with ProfileFor and change what differs", p.MaxTokensField)
	}
	if !slices.Contains([]string{"seed", "random_seed"}, p.SeedField) {
		return fmt.Errorf("openaimodel: Profile.SeedField is %q, must be \"seed\" or \"random_seed\"", p.SeedField)
	}
	if !slices.Contains([]string{"required", "any", ""}, p.RequiredToolChoice) {
		return fmt.Errorf("openaimodel: Profile.RequiredToolChoice is %q, must be \"required\", \"any\" or empty", p.RequiredToolChoice)
	}
	if p.CallIDLength != 0 && (p.CallIDLength < minCallID || p.CallIDLength > maxExactCallID) {
		return fmt.Errorf("openaimodel: Profile.CallIDLength is %d, must be 0, or from %d to %d", p.CallIDLength, minCallID, maxExactCallID)
	}
	if p.CallIDMax != 0 && p.CallIDMax < minCallID {
		return fmt.Errorf("openaimodel: Profile.CallIDMax is %d, must be 0, or at least %d", p.CallIDMax, minCallID)
	}
	if p.KeyHeader != "" && !adapter.ValidHeader(p.KeyHeader, "") {
		return fmt.Errorf("openaimodel: Profile.KeyHeader %q is no name of a header", p.KeyHeader)
	}
	if !slices.Contains([]string{"system", "developer"}, p.SystemRole) {
		return fmt.Errorf("openaimodel: Profile.SystemRole is %q, must be \"system\" or \"developer\"", p.SystemRole)
	}
	if !slices.Contains([]SendReasoning{SendReasoningNever, SendReasoningWithCalls, SendReasoningAlways}, p.SendReasoning) {
		return fmt.Errorf("openaimodel: Profile.SendReasoning is %q, which is none of its values", p.SendReasoning)
	}
	if p.SendReasoning != SendReasoningNever && p.ReasoningField != "reasoning_content" && p.ReasoningField != "reasoning" {
		return fmt.Errorf("openaimodel: Profile.ReasoningField is %q, must be \"reasoning_content\" or \"reasoning\"", p.ReasoningField)
	}
	for _, level := range slices.Sorted(maps.Keys(p.Thinking)) {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(p.Thinking[level], &members); err != nil || members == nil {
			return fmt.Errorf("openaimodel: Profile.Thinking[%q] is no JSON object", level)
		}
	}
	return nil
}

// An id of a call is replaced by a hash, which has 32 characters and is of no use if it is cut too short.
const minCallID, maxExactCallID = 8, 32

// callIDs is the rule for ids of calls in Chat Completions.
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
