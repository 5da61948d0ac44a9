// SPDX-License-Identifier: Apache-2.0

package googledialect

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/firebase/genkit/go/ai"
	"google.golang.org/genai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/geminimodel"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Dialect returns the dialect for a model of the plugin, given Google's name for it.
func Dialect(backend geminimodel.Backend, name string) *genkitmodel.Dialect {
	return dialect(backend, name).genkit()
}

type gemini struct {
	profile geminimodel.Profile
	baseURL string
}

func dialect(backend geminimodel.Backend, name string) *gemini {
	return &gemini{profile: geminimodel.ProfileFor(backend, name)}
}

func (g *gemini) genkit() *genkitmodel.Dialect {
	return &genkitmodel.Dialect{
		NativeOutput:    g.profile.NativeOutput,
		Media:           g.profile.Media,
		Thinking:        true,
		ContentRequired: true,
		Prepare:         g.prepare,
		Part:            part,
		Result:          func(text string) any { return map[string]any{"output": text} },
		Schema: func(_ *genkitmodel.Call, schema map[string]any) (map[string]any, error) {
			return arguments(schema)
		},
		Error: readError,
	}
}

// toolName matches the function names that Google accepts.
var toolName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)

func (g *gemini) prepare(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
	if err := c.Accept(genkitmodel.MaxTokens, genkitmodel.Temperature, genkitmodel.TopP, genkitmodel.Stop, genkitmodel.Seed,
		genkitmodel.Thinking, genkitmodel.ServiceTier, genkitmodel.ExtraHeaders, genkitmodel.ExtraBody); err != nil {
		return nil, err
	}
	for i := range c.Request.Tools {
		if name := c.Request.Tools[i].Name; !toolName.MatchString(name) {
			return nil, c.Unsupported(fmt.Sprintf("the tool name %q", name))
		}
	}
	config, err := g.config(c)
	if err != nil {
		return nil, err
	}
	if g.profile.RequireSignatures {
		sign(c.Genkit.Messages)
	}
	config.HTTPOptions.ExtrasRequestProvider = exact(c.Genkit.Messages)
	c.Genkit.Config = config
	if !slices.ContainsFunc(c.Genkit.Messages, func(m *ai.Message) bool { return m.Role != ai.RoleSystem }) {
		c.Genkit.Messages = append(c.Genkit.Messages, ai.NewUserTextMessage(" ")) // Google requires contents
	}
	if len(c.Request.Tools) > 0 {
		if err := genkitmodel.CommonToolChoice(c); err != nil {
			return nil, err
		}
	}
	if out := c.Request.Output; out != nil {
		if len(c.Request.Tools) > 0 {
			return nil, c.Unsupported("output bound to a JSON schema together with tools")
		}
		decoded, _ := genkitmodel.Decode(out.Schema) // which has been checked
		object, ok := decoded.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("the output schema %q is not a JSON object", out.Name)
		}
		schema, err := flatten(object)
		if err != nil {
			return nil, fmt.Errorf("the output schema %q: %w", out.Name, err)
		}
		c.Genkit.Output = &ai.ModelOutputConfig{Format: "json", ContentType: "application/json", Constrained: true, Schema: schema}
	}
	c.Finish = finish
	return ctx, nil
}

// config returns what the plugin passes to the SDK.
func (g *gemini) config(c *genkitmodel.Call) (*genai.GenerateContentConfig, error) {
	s := c.Settings
	config := &genai.GenerateContentConfig{
		StopSequences: s.Stop, ServiceTier: genai.ServiceTier(s.ServiceTier), HTTPOptions: &genai.HTTPOptions{
			BaseURL: g.baseURL, RetryOptions: &genai.HTTPRetryOptions{Attempts: new(int32(1))},
		},
	}
	if s.MaxTokens > math.MaxInt32 {
		return nil, c.Unsupported(fmt.Sprintf("the setting max_tokens of %d", s.MaxTokens))
	}
	config.MaxOutputTokens = int32(s.MaxTokens)
	if s.Temperature != nil {
		config.Temperature = new(float32(*s.Temperature))
	}
	if s.TopP != nil {
		config.TopP = new(float32(*s.TopP))
	}
	if s.Seed != nil {
		if *s.Seed < math.MinInt32 || *s.Seed > math.MaxInt32 {
			return nil, c.Unsupported(fmt.Sprintf("the setting seed of %d, which has more than 32 bits,", *s.Seed))
		}
		config.Seed = new(int32(*s.Seed))
	}
	if s.Thinking != "" {
		level, ok := g.profile.Thinking[s.Thinking]
		if !ok {
			return nil, c.Unsupported(fmt.Sprintf("thinking %q", s.Thinking))
		}
		config.ThinkingConfig = &level
	}
	for name, value := range s.ExtraHeaders {
		if config.HTTPOptions.Headers == nil {
			config.HTTPOptions.Headers = http.Header{}
		}
		config.HTTPOptions.Headers.Set(name, value)
	}
	for name, value := range s.ExtraBody {
		if config.HTTPOptions.ExtraBody == nil {
			config.HTTPOptions.ExtraBody = map[string]any{}
		}
		decoded, err := genkitmodel.Decode(value)
		if err != nil {
			return nil, fmt.Errorf("the setting ExtraBody[%q]: %w", name, err)
		}
		config.HTTPOptions.ExtraBody[name] = decoded
	}
	return config, nil
}

// exact returns a function that puts the arguments of the history into the body of a request,
// because the SDK converts every number to float64.
func exact(messages []*ai.Message) func(map[string]any) map[string]any {
	var args []any
	for _, msg := range messages {
		for _, p := range msg.Content {
			if p.IsToolRequest() {
				args = append(args, p.ToolRequest.Input)
			}
		}
	}
	return func(body map[string]any) map[string]any {
		n := 0
		for _, content := range objects(body["contents"]) {
			for _, part := range objects(content["parts"]) {
				if call, ok := part["functionCall"].(map[string]any); ok && n < len(args) {
					call["args"] = args[n]
					n++
				}
			}
		}
		return body
	}
}

// objects returns the objects of a list, in either of the SDK's forms.
func objects(list any) []map[string]any {
	switch list := list.(type) {
	case []map[string]any:
		return list
	case []any:
		var found []map[string]any
		for _, element := range list {
			if object, ok := element.(map[string]any); ok {
				found = append(found, object)
			}
		}
		return found
	}
	return nil
}

// part adds signatures to calls, sends the model's own media back, and marks failures in the way
// that Google documents.
func part(c *genkitmodel.Call, in *model.Part, out *ai.Part) (*ai.Part, error) {
	switch {
	case in.Kind == model.PartToolCall && len(in.Signature) > 0 && in.Provider == c.Info.Provider:
		if out.Metadata == nil {
			out.Metadata = map[string]any{}
		}
		out.Metadata["signature"] = in.Signature
	case in.Kind == model.PartMedia && in.Provider != "" && in.Provider == c.Info.Provider && len(in.Data) > 0: // made by the model
		return ai.NewMediaPart(in.MediaType, "data:"+in.MediaType+";base64,"+base64.StdEncoding.EncodeToString(in.Data)), nil
	case adapter.AnswersCall(in) && adapter.Failed(in):
		out.ToolResponse.Output = map[string]any{"error": adapter.Text(in)}
	}
	return out, nil
}

// noSignature is what Google's documentation recommends for calls made by other models
// (https://ai.google.dev/gemini-api/docs/thought-signatures).
const noSignature = "skip_thought_signature_validator"

// sign adds a signature to the first call of every response, because newer models require one.
func sign(messages []*ai.Message) {
	for _, msg := range messages {
		at := slices.IndexFunc(msg.Content, (*ai.Part).IsToolRequest)
		if at >= 0 && genkitmodel.Signature(msg.Content[at]) == nil {
			msg.Content[at].Metadata = map[string]any{"signature": []byte(noSignature)}
		}
	}
}

// finish counts thinking as output, as it is billed. A response without finish reason is an error,
// because it broke off. The plugin reports malformed calls and the like as "other", and reasons
// that it does not know as "unknown".
func finish(resp *ai.ModelResponse, msg *model.Message) error {
	if resp.FinishReason == "" {
		return &model.APIError{Message: "the response has no finish reason", Retryable: true, Err: io.ErrUnexpectedEOF}
	}
	if resp.FinishReason == ai.FinishReasonOther {
		msg.Finish = model.FinishError
	}
	msg.Usage.OutputTokens += msg.Usage.ReasoningTokens
	return nil
}

// readError reads the SDK's errors, and panics of the plugin.
func readError(err error, e *model.APIError) bool {
	var refused genai.APIError
	if errors.As(err, &refused) {
		e.Status, e.Code, e.Message = refused.Code, refused.Status, refused.Message
		e.RetryAfter = retryDelay(refused.Details)
		return true
	}
	var panicked *genkitmodel.PanicError
	text := err.Error()
	isBroken := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case errors.As(err, &panicked) && panicked.In("plugins/googlegenai."): // an empty stream
		e.Message = "the response is empty"
	case slices.ContainsFunc([]string{"no valid candidates", "error unmarshalling", "invalid stream chunk", "unexpected end of JSON input"}, isBroken):
		e.Message = text
	default:
		return false
	}
	e.Retryable, e.Err = true, fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
	return true
}

// retryDelay reads google.rpc.RetryInfo.
func retryDelay(details []map[string]any) time.Duration {
	for _, d := range details {
		if kind, _ := d["@type"].(string); strings.HasSuffix(kind, "google.rpc.RetryInfo") {
			text, _ := d["retryDelay"].(string)
			if delay, err := time.ParseDuration(text); err == nil && delay > 0 {
				return delay
			}
		}
	}
	return 0
}
