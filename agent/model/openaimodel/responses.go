// SPDX-License-Identifier: Apache-2.0

package openaimodel

import (
	"context"
	"slices"

	"github.com/ponte-go/ponte/agent/model"
)

// Responses is a model behind an endpoint that speaks OpenAI's Responses protocol. Make one with [NewResponses]. It is
// safe for concurrent use and has no state beside its configuration.
type Responses struct {
	endpoint
	// reasons says that the model is not known for never doing so.
	reasons bool
}

var _ model.Model = (*Responses)(nil)

// NewResponses returns the model that config describes, behind POST /responses instead of /chat/completions. Everything
// in config means what it means for [New]. Of a profile, what only Chat Completions has (the fields of tokens, seeds and
// reasoning, usage in streams) is not looked at, and of Thinking only the levels; stop strings and seeds are always refused,
// and audio is never taken. NewResponses does no I/O.
//
// Nothing is kept at the endpoint: requests say store:false, and the whole conversation is sent each time. Reasoning is
// asked for in encrypted form, is kept in the history, and goes back to the provider that made it. A model whose profile
// says that it never thinks ([Profile.ForModel]) is not asked, because OpenAI refuses that.
//
// [model.Settings.Thinking] is the effort of reasoning ("off" is "none"), and asks for summaries of it, which are the
// thinking parts of the response. ExtraBody replaces whole top-level fields, so tools that run at the provider
// ({"tools":[{"type":"web_search"}]}) take the place of the request's own tools rather than stand beside them.
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
	if len(e.profile.MediaURLs) > 0 { // this protocol has a place for the URL of all that it takes
		e.info.MediaURLs = slices.Clone(e.info.Media)
	}
	if e.profile.Provider == "llamacpp" { // which takes a schema for the text here, and drops it
		e.profile.NativeOutput, e.info.NativeOutput = false, false
	}
	return &Responses{endpoint: e, reasons: !neverThinks(e.profile)}, nil
}

// neverThinks reports whether all that can be said about thinking is that there is none, for which nothing is sent.
func neverThinks(p Profile) bool {
	return len(p.Thinking) == 1 && string(p.Thinking["off"]) == "{}"
}

// Generate implements [model.Model]. With a nil sink it asks for an unstreamed answer. What fails before the first
// delta is retried as [Config.Retry] says. Errors are those of [Model.Generate].
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
