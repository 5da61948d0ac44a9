// SPDX-License-Identifier: Apache-2.0

package ollamadialect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/firebase/genkit/go/ai"
	"github.com/firebase/genkit/go/genkit"
	"github.com/firebase/genkit/go/plugins/ollama"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/adapter"
)

// Config describes a model of the server. Only Name is required.
type Config struct {
	// Name is Ollama's name for the model, such as "qwen3:8b".
	Name string
	// Images reports that the model accepts images.
	Images bool
	// Provider is [model.Info.Provider]. The default is "ollama".
	Provider string
	// ContextWindow is [model.Info.ContextWindow], in tokens, or 0 if unknown.
	ContextWindow int
}

// New returns a chat model of the plugin, which must have been passed to genkit.Init. The model is
// defined in g if it is not there yet. If it is, its capabilities for tools and media are those the
// program defined. New makes no request.
func New(g *genkit.Genkit, plugin *ollama.Ollama, config Config) (*genkitmodel.Model, error) {
	m, err := open(g, plugin, config)
	if err != nil {
		return nil, fmt.Errorf("ollamadialect: %w", err)
	}
	return m, nil
}

func open(g *genkit.Genkit, plugin *ollama.Ollama, config Config) (*genkitmodel.Model, error) {
	if g == nil || plugin == nil {
		return nil, errors.New("New needs the result of genkit.Init and the plugin passed to it")
	}
	if err := adapter.CheckEndpoint(config.Name, ""); err != nil {
		return nil, err
	}
	defined, err := define(g, plugin, config)
	if err != nil {
		return nil, err
	}
	d := Dialect(defined)
	if config.Images {
		d.Media = []string{"image"}
	}
	return genkitmodel.New(defined, genkitmodel.Config{
		Provider: config.Provider, Name: config.Name, Dialect: d, ContextWindow: config.ContextWindow,
	})
}

func define(g *genkit.Genkit, plugin *ollama.Ollama, config Config) (m ai.Model, err error) {
	if ollama.IsDefinedModel(g, config.Name) {
		return ollama.Model(g, config.Name), nil
	}
	defer func() {
		if cause := recover(); cause != nil { // for example if the plugin has not been initialised
			m, err = nil, fmt.Errorf("the plugin cannot define the model %q: %v", config.Name, cause)
		}
	}()
	return plugin.DefineModel(g, ollama.ModelDefinition{Name: config.Name, Type: "chat"}, &ai.ModelOptions{
		Supports: &ai.ModelSupports{Multiturn: true, SystemRole: true, Tools: true, Media: config.Images},
	}), nil
}

// Dialect returns the dialect of a chat model that the plugin has defined. It accepts no media. Set
// Media to "image" if the model accepts images and was defined accordingly.
func Dialect(m ai.Model) *genkitmodel.Dialect {
	return &genkitmodel.Dialect{
		NoForcedCalls: true,
		Prepare: func(ctx context.Context, c *genkitmodel.Call) (context.Context, error) {
			if err := prepare(c); err != nil {
				return nil, err
			}
			askAgain(ctx, m, c)
			return ctx, nil
		},
		Part: func(_ *genkitmodel.Call, in *model.Part, out *ai.Part) (*ai.Part, error) {
			if adapter.AnswersCall(in) {
				return ai.NewTextPart(adapter.Text(in)), nil // unchanged; a tool response would be quoted
			}
			return out, nil
		},
		Error: readError,
	}
}

func prepare(c *genkitmodel.Call) error {
	if err := c.Accept(); err != nil {
		return err
	}
	switch c.Request.ToolChoice.Mode {
	case model.ToolChoiceAuto:
	case model.ToolChoiceNone:
		c.Genkit.Tools = nil
	default:
		return c.Unsupported(fmt.Sprintf("the tool choice %q", c.Request.ToolChoice.Mode))
	}
	c.Genkit.Messages = apart(c.Genkit.Messages)
	return nil
}

// apart puts every part of a request into a separate message, because the plugin joins the text of
// a message and puts the images after it.
func apart(messages []*ai.Message) []*ai.Message {
	var single []*ai.Message
	for _, msg := range messages {
		if msg.Role != ai.RoleTool && msg.Role != ai.RoleUser {
			single = append(single, msg)
			continue
		}
		for _, p := range msg.Content {
			single = append(single, &ai.Message{Role: msg.Role, Content: []*ai.Part{p}})
		}
	}
	return single
}

var refusal = regexp.MustCompile(`(?s)server returned non-200 status: (\d+), body: (.*)`)

// readError reads the plugin's errors, which are plain text.
func readError(err error, e *model.APIError) bool {
	if panicked := (*genkitmodel.PanicError)(nil); errors.As(err, &panicked) && panicked.In("plugins/ollama.") { // how the plugin reports an unstreamed response that is not JSON
		e.Retryable, e.Message, e.Err = true, "the response is not JSON", fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
		return true
	}
	text := err.Error()
	if found := refusal.FindStringSubmatch(text); found != nil {
		e.Status, _ = strconv.Atoi(found[1])
		e.Message = strings.TrimSpace(found[2])
		var body struct{ Error string }
		if json.Unmarshal([]byte(found[2]), &body) == nil && body.Error != "" {
			e.Message = body.Error
		}
		return true
	}
	switch {
	case strings.Contains(text, "Client.Timeout"):
		e.Retryable, e.Err = true, fmt.Errorf("%w (Timeout of the ollama plugin): %w", os.ErrDeadlineExceeded, err)
	case strings.Contains(text, "token too long"): // the limit of bufio.Scanner
	case strings.Contains(text, "failed to send request"), strings.Contains(text, "failed to read response body"),
		strings.Contains(text, "reading response stream"):
		e.Retryable = true
	case strings.Contains(text, "failed to translate chunk"), strings.Contains(text, "failed to parse response"):
		e.Retryable, e.Err = true, fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
	default:
		return false
	}
	e.Message = e.Err.Error()
	return true
}
