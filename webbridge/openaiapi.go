// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"time"
)

// OpenAIOptions are the options of [New]. The zero value is ready to use.
type OpenAIOptions struct {
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

// OpenAI returns a protocol, for [Options].Protocols, that serves the agent to programs that speak the API of OpenAI and
// nothing else: /v1/chat/completions, /v1/responses and /v1/models.
//
//	h, err := webbridge.New(webbridge.Config[Deps, string]{
//		Host:    host.Config[Deps, string]{Agent: a},
//		Options: webbridge.Options{Token: token, Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{})}},
//	})
//
// A client sets its base URL to the server's URL with /v1, its API key to the token, and its model
// to a name that /v1/models lists.
//
// # Trust
//
// A client sends its whole conversation with each request. Each request has its own session, in
// memory, which ends with the answer. The messages of the user and the assistant are unverified
// claims: the session is seeded with them as claimed, see [host.Session.Seed]. The last messages,
// which must be the user's, are the prompt.
//
// System and developer messages, and the parameter instructions, are left out: the agent has its
// own instructions. So are reasoning and calls that a client sends back. The answer lists the
// omitted parts in "warnings". Results of tools, tools of the client, approvals, and whatever else
// would make the answer another one, such as response_format or previous_response_id, are refused
// by name. Remote files are not loaded.
//
// Nobody can be asked: a call that needs approval is denied, unless a mode of the agent or another policy allows it. See [OpenAIOptions].Settings.
//
// # Answers
//
// The texts of all responses of the model are the answer, in order. If the output of the agent is
// not text, its JSON follows. The agent's own calls are not for the client to carry out:
// /v1/responses has them as items of the type mcp_call, which are complete and have their results;
// /v1/chat/completions does not have them. Usage counts the whole run, and has its cost if there
// are prices. A request that the client aborts is cancelled. Clients should not retry a failed run
// automatically, because tools may have run: x-should-retry is false.
func OpenAI(o OpenAIOptions) Protocol {
	o.Name = cmp.Or(o.Name, "agent")
	o.MaxTokens = cmp.Or(o.MaxTokens, 32_768)
	o.Settings, o.Models = maps.Clone(o.Settings), maps.Clone(o.Models)
	return &openaiProtocol{o: o, began: time.Now().Unix()}
}

// openaiProtocol is safe for concurrent use.
type openaiProtocol struct {
	o     OpenAIOptions
	h     *Handler
	began int64
}

// Register implements [Protocol].
func (p *openaiProtocol) Register(h *Handler) {
	p = &openaiProtocol{p.o, h, p.began} // others may have the same options
	h.errorsAs("/v1/", func(w http.ResponseWriter, e *Error) { openaiWriteError(w, openaiErrorOf(e)) })
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
			var own *openaiAPIError
			switch {
			case err == nil:
			case errors.As(err, &own):
				openaiWriteError(w, own)
			default:
				openaiWriteError(w, openaiErrorOf(h.shown(err)))
			}
			return nil
		})
	}
}

// openaiModelInfo is a model, as it is listed.
type openaiModelInfo struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"`
	OwnedBy string `json:"owned_by"`
}

func (p *openaiProtocol) model(name string) openaiModelInfo {
	return openaiModelInfo{name, "model", p.began, "ponte"}
}

func (p *openaiProtocol) listModels(w http.ResponseWriter, _ *http.Request) error {
	all := []openaiModelInfo{}
	for _, name := range p.names() {
		all = append(all, p.model(name))
	}
	openaiWriteJSON(w, http.StatusOK, map[string]any{"object": "list", "data": all})
	return nil
}

func (p *openaiProtocol) getModel(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("model")
	if _, err := p.settings(name); err != nil {
		return err
	}
	openaiWriteJSON(w, http.StatusOK, p.model(name))
	return nil
}

// names returns the names of the models, the agent's first.
func (p *openaiProtocol) names() []string {
	all := []string{p.o.Name}
	for _, name := range openaiSorted(p.o.Models) {
		if name != p.o.Name {
			all = append(all, name)
		}
	}
	return all
}

// stored answers requests for what other servers keep.
func (p *openaiProtocol) stored(http.ResponseWriter, *http.Request) error {
	return &openaiAPIError{status: http.StatusNotFound, code: "not_stored", message: "Responses and conversations are not stored here: send the whole conversation as input."}
}
