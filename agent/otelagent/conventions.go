// SPDX-License-Identifier: Apache-2.0

package otelagent

import (
	"strings"

	"go.opentelemetry.io/otel/attribute"
)

// The names in this file come from the OpenTelemetry semantic conventions for generative AI,
// version 1.41.0, status Development. It is the last release of open-telemetry/semantic-conventions
// that has them; they have since moved to open-telemetry/semantic-conventions-genai, which has not
// made a release yet. From there come two metrics that 1.41.0 does not have,
// gen_ai.invoke_agent.duration and gen_ai.execute_tool.duration. Names that begin with "ponte." are
// our own.
const schemaURL = "https://opentelemetry.io/schemas/1.41.0"

// Operations, which are also what names of spans begin with.
const (
	opInvokeAgent = "invoke_agent"
	opChat        = "chat"
	opExecuteTool = "execute_tool"
)

// Attributes.
const (
	keyOperation    = attribute.Key("gen_ai.operation.name")
	keyProvider     = attribute.Key("gen_ai.provider.name")
	keyAgent        = attribute.Key("gen_ai.agent.name")
	keyConversation = attribute.Key("gen_ai.conversation.id")
	keyOutputType   = attribute.Key("gen_ai.output.type")

	keyRequestModel       = attribute.Key("gen_ai.request.model")
	keyRequestMaxTokens   = attribute.Key("gen_ai.request.max_tokens")
	keyRequestTemperature = attribute.Key("gen_ai.request.temperature")
	keyRequestTopP        = attribute.Key("gen_ai.request.top_p")
	keyRequestStop        = attribute.Key("gen_ai.request.stop_sequences")
	keyRequestSeed        = attribute.Key("gen_ai.request.seed")

	keyResponseModel  = attribute.Key("gen_ai.response.model")
	keyResponseID     = attribute.Key("gen_ai.response.id")
	keyResponseFinish = attribute.Key("gen_ai.response.finish_reasons")

	keyInputTokens      = attribute.Key("gen_ai.usage.input_tokens")
	keyOutputTokens     = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheReadTokens  = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWriteTokens = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	keyReasoningTokens  = attribute.Key("gen_ai.usage.reasoning.output_tokens")

	keyTool            = attribute.Key("gen_ai.tool.name")
	keyToolType        = attribute.Key("gen_ai.tool.type")
	keyToolDescription = attribute.Key("gen_ai.tool.description")
	keyToolCall        = attribute.Key("gen_ai.tool.call.id")

	keyErrorType = attribute.Key("error.type")

	// Content, which is recorded only if it is switched on.
	keyInstructions = attribute.Key("gen_ai.system_instructions")
	keyInput        = attribute.Key("gen_ai.input.messages")
	keyOutput       = attribute.Key("gen_ai.output.messages")
	keyArguments    = attribute.Key("gen_ai.tool.call.arguments")
	keyResult       = attribute.Key("gen_ai.tool.call.result")

	// Metrics only.
	keyTokenType = attribute.Key("gen_ai.token.type")
)

// Attributes and events of our own.
const (
	keyRun        = attribute.Key("ponte.run.id")
	keyRequests   = attribute.Key("ponte.run.requests")
	keyPending    = attribute.Key("ponte.run.pending_calls")
	keyErrorStage = attribute.Key("ponte.error.stage")
	keyStep       = attribute.Key("ponte.step")
	keyHistory    = attribute.Key("ponte.request.messages")
	keyOutcome    = attribute.Key("ponte.tool.outcome")
	keyAttempt    = attribute.Key("ponte.tool.attempt")
	keyApproved   = attribute.Key("ponte.tool.approved")
	keyApprovedBy = attribute.Key("ponte.tool.approved_by")
	keyChanged    = attribute.Key("ponte.tool.arguments_changed")
	keyPolicy     = attribute.Key("ponte.policy")
	keyStage      = attribute.Key("ponte.refused.stage")
	keyMessage    = attribute.Key("ponte.message") // content

	eventRetry   = "ponte.retry"
	eventOutcome = "ponte.tool.outcome"
	eventRefused = "ponte.refused"
)

// Metrics.
const (
	metricChat   = "gen_ai.client.operation.duration"
	metricTokens = "gen_ai.client.token.usage"
	metricRun    = "gen_ai.invoke_agent.duration"
	metricCall   = "gen_ai.execute_tool.duration"
)

// The boundaries of histograms that the conventions recommend: seconds of a request or a call,
// seconds of a run, tokens.
var (
	bucketsOperation = []float64{0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92}
	bucketsRun       = []float64{0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6}
	bucketsTokens    = []float64{1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864}
)

// providers maps names that are usual here and elsewhere to those that the conventions prescribe.
// Others stay as they are.
var providers = map[string]string{
	"azure":    "azure.ai.openai",
	"bedrock":  "aws.bedrock",
	"gemini":   "gcp.gemini",
	"google":   "gcp.gemini",
	"googleai": "gcp.gemini",
	"mistral":  "mistral_ai",
	"moonshot": "moonshot_ai",
	"vertex":   "gcp.vertex_ai",
	"vertexai": "gcp.vertex_ai",
	"watsonx":  "ibm.watsonx.ai",
	"xai":      "x_ai",
}

func providerName(name string) string {
	name = strings.ToLower(name)
	if known, ok := providers[name]; ok {
		return known
	}
	return name
}
