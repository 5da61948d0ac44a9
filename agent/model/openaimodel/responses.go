// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// Responses is a model behind an endpoint that speaks OpenAI's Responses protocol. [NewResponses]
// returns one. It is safe for concurrent use and has no state besides its configuration.
type Responses struct {
	*endpoint
	// reasons is false if the model is known never to reason.
	reasons bool
}

var _ model.Model = (*Responses)(nil)

// NewResponses returns the model described by config, using POST /responses instead of
// /chat/completions. The fields of config mean the same as for [New]. Fields of the profile that
// apply only to Chat Completions are ignored (those for tokens, seeds, reasoning, and usage in
// streams), and only the levels of Thinking are used. Stop strings, seeds and audio are not
// supported. NewResponses does no I/O.
//
// Nothing is stored at the endpoint: requests set store to false, and the whole conversation is
// sent each time. Reasoning is requested in encrypted form, stored in the history, and sent back to
// the provider that made it. It is not requested from models whose profile says that they never
// think ([Profile.ForModel]), because OpenAI returns an error for that.
//
// [model.Settings.Thinking] sets the reasoning effort ("off" becomes "none") and requests
// summaries, which are the thinking parts of the response. OpenAI's own web search
// ([model.NativeWebSearch]) and compaction ([model.Settings.CompactAt]) are supported. ExtraBody
// replaces whole top-level fields, so other tools that run at the provider
// ({"tools":[{"type":"code_interpreter"}]}) replace the request's own tools.
func NewResponses(config Config) (*Responses, error) {
	e, err := newEndpoint(config, "response")
	if err != nil {
		return nil, err
	}
	sendable := func(kinds []string) []string {
		return slices.DeleteFunc(slices.Clone(kinds), func(kind string) bool { return kind != "image" && kind != "application/pdf" })
	}
	e.info.Media = sendable(e.info.Media)
	e.info.MediaURLs = e.info.MediaURLs[:0:0]
	e.info.NativeSearch, e.info.NativeDomains, e.info.NativeCompaction = e.profile.Native, e.profile.Native, e.profile.Native
	if len(e.profile.MediaURLs) > 0 { // this protocol supports URLs for all kinds of media
		e.info.MediaURLs = slices.Clone(e.info.Media)
	}
	if e.profile.Provider == "llamacpp" { // accepts a schema for the text here, but ignores it
		e.profile.NativeOutput, e.info.NativeOutput = false, false
	}
	return &Responses{endpoint: e, reasons: !neverThinks(e.profile)}, nil
}

// neverThinks reports whether the only supported level of thinking is off, for which nothing is
// sent.
func neverThinks(p Profile) bool {
	return len(p.Thinking) == 1 && string(p.Thinking["off"]) == "{}"
}

// Generate implements [model.Model]. If sink is nil, it asks for an unstreamed response. Failures
// before the first delta are retried according to [Config.Retry]. Errors are those of
// [Model.Generate].
func (m *Responses) Generate(ctx context.Context, req *model.Request, sink model.Sink) (*model.Message, error) {
	if err := model.CheckRequests(m.info); err != nil {
		return nil, err
	}
	settings := m.settings.Merge(req.Settings)
	body, err := m.appendRequest(req, settings, sink != nil)
	if err != nil {
		return nil, err
	}
	e := m.exchange("/responses", body, settings)
	return e.run(ctx, func() collector { return &itemCollector{provider: m.info.Provider, deltas: deltas{sink: sink}} })
}
