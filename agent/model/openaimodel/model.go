// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
)

// Model is a model behind an OpenAI-compatible Chat Completions endpoint. Make one with [New]. It is safe for
// concurrent use and has no state beside its configuration.
type Model struct {
	endpoint
	thinking map[string][]bodyMember
}

var _ model.Model = (*Model)(nil)

// Generate implements [model.Model]. With a nil sink it asks for an unstreamed answer. What fails before the first
// delta is retried as [Config.Retry] says.
//
// An error is an [*model.APIError] if the endpoint or the way to it failed. It wraps [model.ErrUnsupported], or
// describes what is wrong with the request, if the request was not sent; it wraps the context's cause if the context
// ended; and it is the sink's own if the sink failed.
func (m *Model) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(m.info); err != nil {
		return nil, err
	}
	settings := m.settings.Merge(req.Settings)
	body, err := m.appendRequest(req, settings, sink != nil)
	if err != nil {
		return nil, err
	}
	e := m.exchange("/chat/completions", body, settings)
	return e.run(ctx, func() collector { return newAssembler(m.info.Provider, req.Tools, sink) })
}
