// SPDX-License-Identifier: Apache-2.0

// Package responses makes [model.Open] know the provider "openai-responses", OpenAI's Responses API. Import it for its side effect:
//
//	import _ "github.com/ponte-go/ponte/agent/model/openaimodel/responses"
//
// Programs that call [openaimodel.NewResponses] do not need it. It is a package of its own because a registered model is linked,
// which is 70 kB that programs with chat completions need not have.
package responses

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/openaimodel"
)

const (
	provider = "openai-responses"
	openai   = "openai"
)

func init() {
	driver := model.Driver{Opener: opener{}}
	for name, d := range model.Providers() {
		if name == openai {
			driver.Env = d.Env
		}
	}
	model.Register(provider, driver)
}

type opener struct{}

func (opener) OpenModel(_ context.Context, name string, o model.OpenOptions) (model.Model, error) {
	config, err := openaimodel.ConfigOf(openai, name, o)
	if err != nil {
		return nil, err
	}
	m, err := openaimodel.NewResponses(config)
	if err != nil {
		return nil, err
	}
	return m, nil
}
