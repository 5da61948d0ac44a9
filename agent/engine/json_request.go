// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"encoding/json"

	"github.com/ponte-go/ponte/agent/model"
)

type requestJSON struct {
	Instructions string           `json:"instructions,omitempty"`
	Messages     []*model.Message `json:"messages,omitempty"`
	Tools        []toolDefJSON    `json:"tools,omitempty"`
	Choice       choiceJSON       `json:"tool_choice,omitzero"`
	Output       *outputJSON      `json:"output,omitempty"`
	Settings     *settingsJSON    `json:"settings,omitempty"`
}

// toolDefJSON has the fields of [model.ToolDef].
type toolDefJSON struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Schema      json.RawMessage `json:"schema,omitempty"`
	Strict      bool            `json:"strict,omitempty"`
}

// outputJSON has the fields of [model.OutputSchema].
type outputJSON toolDefJSON

// choiceJSON has the fields of [model.ToolChoice].
type choiceJSON struct {
	Mode model.ToolChoiceMode `json:"mode,omitempty"`
	Tool string               `json:"tool,omitempty"`
}

// settingsJSON has the fields of [model.Settings].
type settingsJSON struct {
	MaxTokens         int                        `json:"max_tokens,omitempty"`
	Temperature       *float64                   `json:"temperature,omitempty"`
	TopP              *float64                   `json:"top_p,omitempty"`
	Stop              []string                   `json:"stop,omitempty"`
	Seed              *int64                     `json:"seed,omitempty"`
	ParallelToolCalls *bool                      `json:"parallel_tool_calls,omitempty"`
	Thinking          string                     `json:"thinking,omitempty"`
	ServiceTier       string                     `json:"service_tier,omitempty"`
	NativeTools       []model.NativeTool         `json:"native_tools,omitempty"`
	CompactAt         int                        `json:"compact_at,omitempty"`
	ExtraHeaders      map[string]string          `json:"extra_headers,omitempty"`
	ExtraBody         map[string]json.RawMessage `json:"extra_body,omitempty"`
}

func settingsOf(s *model.Settings) *settingsJSON { return (*settingsJSON)(s) }

func (f *settingsJSON) settings() *model.Settings { return (*model.Settings)(f) }

func defsOf(defs []model.ToolDef) []toolDefJSON {
	var forms []toolDefJSON
	for _, d := range defs {
		forms = append(forms, toolDefJSON(d))
	}
	return forms
}

func toDefs(forms []toolDefJSON) []model.ToolDef {
	var defs []model.ToolDef
	for _, f := range forms {
		defs = append(defs, model.ToolDef(f))
	}
	return defs
}

func requestOf(r *model.Request) *requestJSON {
	if r == nil {
		return nil
	}
	return &requestJSON{r.Instructions, r.Messages, defsOf(r.Tools), choiceJSON(r.ToolChoice), (*outputJSON)(r.Output), settingsOf(r.Settings)}
}

func (f *requestJSON) request() *model.Request {
	if f == nil {
		return nil
	}
	return &model.Request{
		Instructions: f.Instructions, Messages: f.Messages, Tools: toDefs(f.Tools), ToolChoice: model.ToolChoice(f.Choice),
		Output: (*model.OutputSchema)(f.Output), Settings: f.Settings.settings(),
	}
}

type optionsJSON struct {
	Instructions []string      `json:"instructions,omitempty"`
	Settings     *settingsJSON `json:"settings,omitempty"`
	Choice       choiceJSON    `json:"tool_choice,omitzero"`
	ToolRetries  *int          `json:"tool_retries,omitempty"`
}

func optionsOf(o *Options) *optionsJSON {
	if o == nil {
		return nil
	}
	return &optionsJSON{o.Instructions, settingsOf(o.Settings), choiceJSON(o.Choice), o.ToolRetries}
}

func (f *optionsJSON) options() *Options {
	if f == nil {
		return nil
	}
	return &Options{f.Instructions, f.Settings.settings(), model.ToolChoice(f.Choice), f.ToolRetries}
}
