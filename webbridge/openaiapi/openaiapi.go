// SPDX-License-Identifier: Apache-2.0

package openaiapi

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"time"

	"github.com/ponte-go/ponte/webbridge"
)

// Options are the options of [New]. The zero value is ready to use.
type Options struct {
	// Name is the name of the model that clients ask for. Empty means "agent".
	Name string
	// Settings are settings of the host for the sessions of clients, such as {"mode": "code"}: see [host.Session.Set]. A mode decides about
	// calls that need approval.
	Settings map[string]string
	// Models maps further names to values of the setting [host.SettingModel].
	Models map[string]string
	// MaxTokens is the most that a client can ask for with max_tokens, for each response of the model. 0 means 32,768.
	MaxTokens int
	// Strict refuses requests from which something would be left out.
	Strict bool
}

// New returns the protocol, for [webbridge.Options].Protocols.
func New(o Options) webbridge.Protocol {
	o.Name = cmp.Or(o.Name, "agent")
	o.MaxTokens = cmp.Or(o.MaxTokens, 32_768)
	o.Settings, o.Models = maps.Clone(o.Settings), maps.Clone(o.Models)
	return &protocol{o: o, began: time.Now().Unix()}
}

// protocol is safe for concurrent use.
type protocol struct {
	o     Options
	h     *webbridge.Handler
	began int64
}

// Register implements [webbridge.Protocol].
func (p *protocol) Register(h *webbridge.Handler) {
	p.h = h
	h.Errors("/v1/", func(w http.ResponseWriter, e *webbridge.Error) { writeError(w, errorOf(e)) })
	for route, f := range map[string]func(http.ResponseWriter, *http.Request) error{
		"GET /v1/models":            p.listModels,
		"GET /v1/models/{model...}": p.getModel,
		"POST /v1/chat/completions": p.chat,
		"POST /v1/responses":        p.responses,
		"/v1/responses/{rest...}":   p.stored,
		"/v1/conversations":         p.stored,
	} {
		h.Handle(route, func(w http.ResponseWriter, r *http.Request) error {
			err := f(w, r)
			var own *apiError
			switch {
			case err == nil:
			case errors.As(err, &own):
				writeError(w, own)
			default:
				writeError(w, errorOf(h.Explain(err)))
			}
			return nil
		})
	}
}

// modelInfo is a model, as it is listed.
type modelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (p *protocol) model(name string) modelInfo { return modelInfo{name, "model", p.began, "ponte"} }

func (p *protocol) listModels(w http.ResponseWriter, _ *http.Request) error {
	all := []modelInfo{}
	for _, name := range p.names() {
		all = append(all, p.model(name))
	}
	writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": all})
	return nil
}

func (p *protocol) getModel(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("model")
	if _, err := p.settings(name); err != nil {
		return err
	}
	writeJSON(w, http.StatusOK, p.model(name))
	return nil
}

// names returns the names of the models, that of the agent first.
func (p *protocol) names() []string {
	all := []string{p.o.Name}
	for _, name := range sorted(p.o.Models) {
		if name != p.o.Name {
			all = append(all, name)
		}
	}
	return all
}

// stored answers requests for what other servers keep.
func (p *protocol) stored(http.ResponseWriter, *http.Request) error {
	return &apiError{status: http.StatusNotFound, code: "not_stored", message: "Responses and conversations are not stored here: send the whole conversation as input."}
}
