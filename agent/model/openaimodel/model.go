// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"context"

	"github.com/ponte-go/ponte/agent/model"
)

// Model is a model behind an OpenAI-compatible Chat Completions endpoint. [New] returns one. It is
// safe for concurrent use and has no state besides its configuration.
type Model struct {
	*endpoint
	thinking map[string][]bodyMember
}

var _ model.Model = (*Model)(nil)

// Generate implements [model.Model]. If sink is nil, it asks for an unstreamed response. Failures
// before the first delta are retried according to [Config.Retry].
//
// If the endpoint or the connection failed, the error is an [*model.APIError]. If the request could
// not be sent, the error wraps [model.ErrUnsupported] or describes what is wrong with the request.
// If the context ended, it wraps the context's cause. If the sink failed, it is the sink's error.
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
