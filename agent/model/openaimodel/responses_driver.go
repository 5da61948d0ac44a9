// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
)

func init() {
	openai := providerOf("openai")
	model.Register("openai-responses", model.Driver{Opener: responsesOpener{openai}, Env: openai.env()})
}

type responsesOpener struct{ *provider }

func (p responsesOpener) OpenModel(_ context.Context, of string, o model.OpenOptions) (model.Model, error) {
	config, err := p.config(of, o)
	if err != nil {
		return nil, err
	}
	m, err := NewResponses(config)
	if err != nil {
		return nil, err
	}
	return m, nil
}
