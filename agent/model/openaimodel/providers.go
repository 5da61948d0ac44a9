// SPDX-License-Identifier: Apache-2.0

package openaimodel

import "encoding/json"

// provider describes an endpoint that speaks Chat Completions: its address, its authentication, and
// how its protocol differs. The source is the provider's API reference unless a comment names
// another one.
type provider struct {
	// name is valid in ProfileFor and, before a colon, in model.Open.
	name string
	// base is the address, unless parts of it come from the environment: see address.
	base string
	// baseEnv is a variable with another address for the same protocol, such as a proxy.
	baseEnv string
	// keyEnv lists the variables of the key. The first one that is set is used.
	keyEnv []string
	// needsKey reports that requests without a key fail.
	needsKey bool
	// moreEnv lists other variables that address reads.
	moreEnv []string
	// domains lists the domains of its hosts.
	domains []string
	// differs changes the generic profile.
	differs func(*Profile)
}

// providers is a list of constants and not a map, so that the linker lays it out and a program does
// not have to build it.
var providers = [...]provider{
	{
		name: "openai", base: DefaultBaseURL, baseEnv: "OPENAI_BASE_URL", keyEnv: []string{"OPENAI_API_KEY"}, needsKey: true,
		domains: []string{"openai.com"},
		differs: func(p *Profile) {
			p.MaxTokensField = "max_completion_tokens"
			p.Native = true
			p.CallIDMax = 40 // "Expected a string with maximum length 40"
		},
	},
	// "Azure OpenAI in Microsoft Foundry Models v1 API". The model is the name of a deployment.
	// Files are not accepted in chat (pydantic-ai, providers/azure.py).
	{
		name: "azure", keyEnv: []string{"AZURE_OPENAI_API_KEY"}, needsKey: true, moreEnv: []string{"AZURE_OPENAI_ENDPOINT"},
		domains: []string{"openai.azure.com", "services.ai.azure.com", "cognitiveservices.azure.com"},
		differs: func(p *Profile) {
			p.KeyHeader = "api-key"
			p.MaxTokensField = "max_completion_tokens"
			p.CallIDMax = 40
			p.Media = []string{"image", "audio"}
		},
	},
	// "Invoke a model with the OpenAI Chat Completions API" and "API keys" in the user guide of
	// Amazon Bedrock. Written from the documentation, never tested with the service.
	{
		name: "bedrock", keyEnv: []string{"AWS_BEARER_TOKEN_BEDROCK"}, needsKey: true, moreEnv: []string{"AWS_REGION", "AWS_DEFAULT_REGION"},
		differs: func(p *Profile) {
			p.MaxTokensField = "max_completion_tokens"
			p.Strict = false
			p.Thinking = effort("", "", "low", "medium", "high")
			p.Media, p.MediaURLs = []string{"image"}, nil
		},
	},
	// "Currently unsupported OpenAI features" (pydantic-ai, providers/cerebras.py, names the two
	// settings). Thinking can be turned off only for GLM.
	{
		name: "cerebras", base: "https://api.cerebras.ai/v1", baseEnv: "CEREBRAS_BASE_URL", keyEnv: []string{"CEREBRAS_API_KEY"}, needsKey: true,
		domains: []string{"cerebras.ai"},
		differs: func(p *Profile) {
			p.MaxTokensField = "max_completion_tokens"
			p.ReasoningField = "reasoning"
			p.Thinking = effort("", "", "low", "medium", "high")
			p.Thinking["off"] = json.RawMessage(`{"disable_reasoning":true}`)
			p.Unsupported = []string{"parallel_tool_calls", "service_tier"}
			p.Media, p.MediaURLs = nil, nil
		},
	},
	{
		name: "deepseek", base: "https://api.deepseek.com/v1", baseEnv: "DEEPSEEK_BASE_URL", keyEnv: []string{"DEEPSEEK_API_KEY"}, needsKey: true,
		domains: []string{"deepseek.com"},
		differs: func(p *Profile) {
			p.NativeOutput = false
			p.Strict = false
			p.SendReasoning = SendReasoningWithCalls
			p.Thinking = map[string]json.RawMessage{"off": json.RawMessage(`{"thinking":{"type":"disabled"}}`)}
			for _, level := range []string{"low", "medium", "high"} {
				p.Thinking[level] = json.RawMessage(`{"thinking":{"type":"enabled"},"reasoning_effort":"` + level + `"}`)
			}
			p.Unsupported = []string{"seed", "parallel_tool_calls", "service_tier"}
			p.Media, p.MediaURLs = nil, nil
		},
	},
	{
		name: "fireworks", base: "https://api.fireworks.ai/inference/v1", baseEnv: "FIREWORKS_BASE_URL", keyEnv: []string{"FIREWORKS_API_KEY"}, needsKey: true,
		domains: []string{"fireworks.ai"},
		differs: func(p *Profile) {
			p.Thinking = effort("none", "", "low", "medium", "high")
			p.Media = []string{"image"}
		},
	},
	// "Reasoning": none for the Qwen models, levels for gpt-oss. The server checks which model
	// supports which.
	{
		name: "groq", base: "https://api.groq.com/openai/v1", baseEnv: "GROQ_BASE_URL", keyEnv: []string{"GROQ_API_KEY"}, needsKey: true,
		domains: []string{"groq.com"},
		differs: func(p *Profile) {
			p.MaxTokensField = "max_completion_tokens"
			p.ReasoningField = "reasoning"
			p.Thinking = effort("none", "", "low", "medium", "high")
			p.Media = []string{"image"}
		},
	},
	// "Inference Providers": a router to many providers, each of which may not support a setting.
	{
		name: "huggingface", base: "https://router.huggingface.co/v1", baseEnv: "HF_BASE_URL", keyEnv: []string{"HF_TOKEN"}, needsKey: true,
		domains: []string{"router.huggingface.co"},
		differs: func(p *Profile) {
			p.Thinking = effort("", "", "low", "medium", "high")
			p.Unsupported = []string{"service_tier"}
			p.Media = []string{"image"}
		},
	},
	{
		name: "llamacpp", base: "http://127.0.0.1:8080", baseEnv: "LLAMACPP_BASE_URL", keyEnv: []string{"LLAMA_API_KEY"},
		differs: func(p *Profile) {
			p.Thinking = map[string]json.RawMessage{"off": json.RawMessage(`{"chat_template_kwargs":{"enable_thinking":false}}`)}
			for _, level := range []string{"low", "medium", "high"} {
				p.Thinking[level] = json.RawMessage(`{"chat_template_kwargs":{"reasoning_effort":"` + level + `"}}`)
			}
			p.NamedToolChoice = false
			p.Unsupported = []string{"service_tier"}
			p.Media = []string{"image", "audio"}
		},
	},
	{
		name: "lmstudio", base: "http://127.0.0.1:1234", baseEnv: "LMSTUDIO_BASE_URL", keyEnv: []string{"LM_API_TOKEN"},
		differs: func(p *Profile) {
			p.NamedToolChoice = false
			p.Thinking = nil
			p.Unsupported = []string{"parallel_tool_calls", "service_tier"}
			p.Media, p.MediaURLs = []string{"image"}, nil
		},
	},
	// "Chat completion": random_seed, tool_choice any. The rest is from error messages: unknown
	// fields ("Extra inputs are not permitted", including stream_options, but usage is sent
	// anyway), "Tool call id was … but must be a-z, A-Z, 0-9, with a length of 9", "Unexpected role
	// 'user' after role 'tool'". There is one level of thinking (@ai-sdk/mistral). A PDF would need
	// another kind of part.
	{
		name: "mistral", base: "https://api.mistral.ai/v1", baseEnv: "MISTRAL_BASE_URL", keyEnv: []string{"MISTRAL_API_KEY"}, needsKey: true,
		domains: []string{"mistral.ai"},
		differs: func(p *Profile) {
			p.SeedField = "random_seed"
			p.StreamUsage = false
			p.NamedToolChoice = false
			p.RequiredToolChoice = "any"
			p.CallIDLength = 9
			p.AssistantAfterTools = true
			p.Thinking = effort("none", "", "", "", "high")
			p.Unsupported = []string{"service_tier"}
			p.Media = []string{"image"}
		},
	},
	// "API Reference" of NIM. Thinking depends on each model's template, so no level works for all.
	{
		name: "nvidia", base: "https://integrate.api.nvidia.com/v1", baseEnv: "NVIDIA_BASE_URL", keyEnv: []string{"NVIDIA_API_KEY"}, needsKey: true,
		domains: []string{"api.nvidia.com"},
		differs: func(p *Profile) {
			p.Strict = false
			p.Thinking = nil
			p.Unsupported = []string{"service_tier"}
			p.Media, p.MediaURLs = []string{"image"}, nil
		},
	},
	// Ollama ignores tool_choice (https://github.com/ollama/ollama/issues/17921, for 0.32.15).
	{
		name: "ollama", keyEnv: []string{"OLLAMA_API_KEY"}, moreEnv: []string{"OLLAMA_HOST"},
		domains: []string{"ollama.com"},
		differs: func(p *Profile) {
			p.Strict = false
			p.NamedToolChoice = false
			p.RequiredToolChoice = ""
			p.ReasoningField = "reasoning"
			p.Thinking = effort("none", "", "low", "medium", "high")
			p.Unsupported = []string{"parallel_tool_calls", "service_tier"}
			p.Media, p.MediaURLs = []string{"image"}, nil
		},
	},
	{
		name: "openrouter", base: "https://openrouter.ai/api/v1", baseEnv: "OPENROUTER_BASE_URL", keyEnv: []string{"OPENROUTER_API_KEY"}, needsKey: true,
		domains: []string{"openrouter.ai"},
		differs: func(p *Profile) {
			p.ReasoningField = "reasoning"
			p.ReasoningDetails = true
			p.ResponseImages = true // ChatAssistantMessage in @openrouter/sdk
			p.Thinking = map[string]json.RawMessage{}
			for _, level := range thinkingLevels {
				p.Thinking[level] = json.RawMessage(`{"reasoning":{"effort":"` + effortOf(level) + `"}}`)
			}
			p.MediaURLs = []string{"image", "application/pdf"}
		},
	},
	// "Chat Completions" and "Reasoning": thinking can be turned off for hybrid models, gpt-oss has
	// levels.
	{
		name: "together", base: "https://api.together.xyz/v1", baseEnv: "TOGETHER_BASE_URL", keyEnv: []string{"TOGETHER_API_KEY"}, needsKey: true,
		domains: []string{"together.xyz", "together.ai"},
		differs: func(p *Profile) {
			p.Strict = false
			p.ReasoningField = "reasoning"
			p.Thinking = effort("", "", "low", "medium", "high")
			p.Thinking["off"] = json.RawMessage(`{"reasoning":{"enabled":false}}`)
			p.Unsupported = []string{"parallel_tool_calls", "service_tier"}
			p.Media = []string{"image"}
		},
	},
	{
		name: "vllm", base: "http://127.0.0.1:8000", baseEnv: "VLLM_BASE_URL", keyEnv: []string{"VLLM_API_KEY"},
		differs: func(p *Profile) {
			p.Thinking = effort("", "", "low", "medium", "high")
			p.Thinking["off"] = json.RawMessage(`{"chat_template_kwargs":{"enable_thinking":false}}`)
			p.Unsupported = []string{"service_tier"}
			p.Media = []string{"image", "audio"}
		},
	},
	// "Chat completions" and "Reasoning" of the xAI API. The limitations of reasoning models are in
	// modelFacts.
	{
		name: "xai", base: "https://api.x.ai/v1", baseEnv: "XAI_BASE_URL", keyEnv: []string{"XAI_API_KEY"}, needsKey: true,
		domains: []string{"x.ai"},
		differs: func(p *Profile) {
			p.MaxTokensField = "max_completion_tokens"
			p.Strict = false
			p.Thinking = effort("none", "", "low", "medium", "high")
			p.Unsupported = []string{"service_tier"}
			p.Media = []string{"image"}
		},
	},
}

// providerOf returns the provider of a name, or nil.
func providerOf(name string) *provider {
	for i := range providers {
		if providers[i].name == name {
			return &providers[i]
		}
	}
	return nil
}
