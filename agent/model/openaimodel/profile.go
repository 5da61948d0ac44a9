package openaimodel

import (
	"encoding/json"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
)

// Profile describes one variety of the Chat Completions protocol, as data. To change one switch, change the profile
// that [ProfileFor] returns and set it as [Config.Profile]. What a profile does not say, such as the many shapes of
// streamed tool calls, of errors and of reasoning fields, is understood whatever the profile.
type Profile struct {
	// Provider is the default of [Config.Provider]. Empty means the host of the base URL.
	Provider string
	// MaxTokensField is the field of [model.Settings.MaxTokens]: "max_tokens" or "max_completion_tokens".
	MaxTokensField string
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
	// ReasoningField is the field in which thinking goes back: "reasoning_content" or "reasoning". Both are read.
	ReasoningField string
	// SendReasoning says when the thinking that this provider made goes back to it.
	SendReasoning SendReasoning
	// ReasoningDetails sends back the opaque reasoning_details that this provider made.
	ReasoningDetails bool
	// Thinking has, for each level of [model.Settings.Thinking] that the provider knows, the members that are added
	// to the request's body, as a JSON object. Other levels are refused.
	Thinking map[string]json.RawMessage
	// Unsupported lists fields of the wire that the endpoint does not know: "seed", "parallel_tool_calls",
	// "service_tier", "stop", "temperature", "top_p". Settings that need them are refused.
	Unsupported []string
	// Media is [model.Info.Media]. This package can send "image", "audio" (WAV and MP3) and "application/pdf".
	Media []string
	// MediaURLs lists what of Media may be sent as a URL rather than as data: "image", "application/pdf".
	MediaURLs []string
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

// ProfileFor returns the profile of a provider by its name: "openai", "openrouter", "deepseek", "ollama", "vllm",
// "llamacpp", "lmstudio"; with another name or none, the one that the host of baseURL gives away (its name, or the
// port that Ollama and LM Studio are known by); otherwise the generic one, which refuses nothing that the protocol
// has. The result shares nothing with other results.
func ProfileFor(provider, baseURL string) Profile {
	name := provider
	if !slices.Contains(knownProviders, name) {
		name = detectProvider(baseURL)
	}
	p := Profile{
		Provider:        name,
		MaxTokensField:  "max_tokens",
		SystemRole:      "system",
		StreamUsage:     true,
		NativeOutput:    true,
		Strict:          true,
		NamedToolChoice: true,
		ReasoningField:  "reasoning_content",
		Thinking:        effort("reasoning_effort", "none", "minimal", "low", "medium", "high"),
		Media:           []string{"image", "audio", "application/pdf"},
		MediaURLs:       []string{"image"},
	}
	switch name {
	case "openai":
		p.MaxTokensField = "max_completion_tokens"
	case "openrouter":
		p.ReasoningField = "reasoning"
		p.ReasoningDetails = true
		p.Thinking = map[string]json.RawMessage{}
		for level, value := range map[string]string{"off": "none", "minimal": "minimal", "low": "low", "medium": "medium", "high": "high"} {
			p.Thinking[level] = json.RawMessage(`{"reasoning":{"effort":"` + value + `"}}`)
		}
		p.MediaURLs = []string{"image", "application/pdf"}
	case "deepseek":
		p.NativeOutput = false
		p.Strict = false
		p.SendReasoning = SendReasoningWithCalls
		p.Thinking = map[string]json.RawMessage{"off": json.RawMessage(`{"thinking":{"type":"disabled"}}`)}
		for _, level := range []string{"low", "medium", "high"} {
			p.Thinking[level] = json.RawMessage(`{"thinking":{"type":"enabled"},"reasoning_effort":"` + level + `"}`)
		}
		p.Unsupported = []string{"seed", "parallel_tool_calls", "service_tier"}
		p.Media, p.MediaURLs = nil, nil
	case "ollama":
		p.Strict = false
		p.ReasoningField = "reasoning"
		p.Thinking = effort("reasoning_effort", "none", "", "low", "medium", "high")
		p.Unsupported = []string{"parallel_tool_calls", "service_tier"}
		p.Media, p.MediaURLs = []string{"image"}, nil
	case "vllm":
		p.Thinking = effort("reasoning_effort", "", "", "low", "medium", "high")
		p.Thinking["off"] = json.RawMessage(`{"chat_template_kwargs":{"enable_thinking":false}}`)
		p.Unsupported = []string{"service_tier"}
		p.Media = []string{"image", "audio"}
	case "llamacpp":
		p.Thinking = map[string]json.RawMessage{"off": json.RawMessage(`{"chat_template_kwargs":{"enable_thinking":false}}`)}
		for _, level := range []string{"low", "medium", "high"} {
			p.Thinking[level] = json.RawMessage(`{"chat_template_kwargs":{"reasoning_effort":"` + level + `"}}`)
		}
		p.NamedToolChoice = false
		p.Unsupported = []string{"service_tier"}
		p.Media = []string{"image", "audio"}
	case "lmstudio":
		p.NamedToolChoice = false
		p.Thinking = nil
		p.Unsupported = []string{"parallel_tool_calls", "service_tier"}
		p.Media, p.MediaURLs = []string{"image"}, nil
	}
	return p
}

var knownProviders = []string{"openai", "openrouter", "deepseek", "ollama", "vllm", "llamacpp", "lmstudio"}

// effort maps levels to values of one string field. An empty value leaves the level out.
func effort(field, off, minimal, low, medium, high string) map[string]json.RawMessage {
	levels := map[string]json.RawMessage{}
	for level, value := range map[string]string{"off": off, "minimal": minimal, "low": low, "medium": medium, "high": high} {
		if value != "" {
			levels[level] = json.RawMessage(`{"` + field + `":"` + value + `"}`)
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
	switch {
	case inDomain(host, "openai.com"), inDomain(host, "openai.azure.com"):
		return "openai"
	case inDomain(host, "openrouter.ai"):
		return "openrouter"
	case inDomain(host, "deepseek.com"):
		return "deepseek"
	case inDomain(host, "ollama.com"), u.Port() == "11434":
		return "ollama"
	case u.Port() == "1234" && isLocal(host):
		return "lmstudio"
	}
	// A container or machine is often named after what it runs.
	label, _, _ := strings.Cut(host, ".")
	label = strings.NewReplacer("-", "", "_", "").Replace(label)
	if slices.Contains(knownProviders, label) {
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

func (p *Profile) clone() Profile {
	c := *p
	c.Thinking = maps.Clone(p.Thinking)
	c.Unsupported, c.Media, c.MediaURLs = slices.Clone(p.Unsupported), slices.Clone(p.Media), slices.Clone(p.MediaURLs)
	return c
}
