// SPDX-License-Identifier: Apache-2.0

package genkitmodel_test

import (
	"context"
	"testing"

	"github.com/firebase/genkit/go/ai"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel"
	"github.com/ponte-go/ponte/internal/leaktest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// generate is the function of a plugin.
type generate = func(context.Context, *ai.ModelRequest, ai.ModelStreamCallback) (*ai.ModelResponse, error)

// plugin returns a model that supports everything that Genkit defines.
func plugin(f generate) ai.Model {
	return ai.NewModel("fake/model", &ai.ModelOptions{Supports: &ai.ModelSupports{
		Media: true, Multiturn: true, SystemRole: true, Tools: true, ToolChoice: true,
	}}, f)
}

// open returns a model for such a plugin.
func open(t testing.TB, config genkitmodel.Config, f generate) *genkitmodel.Model {
	t.Helper()
	m, err := genkitmodel.New(plugin(f), config)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// answer returns a plugin's response with the given parts.
func answer(parts ...*ai.Part) *ai.ModelResponse {
	return &ai.ModelResponse{FinishReason: ai.FinishReasonStop, Message: &ai.Message{Role: ai.RoleModel, Content: parts}}
}

func hello() *model.Request {
	return &model.Request{Messages: []*model.Message{model.UserText("hello")}}
}
