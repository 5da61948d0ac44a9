// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// plain is a protocol that answers a text with a stream of the deltas of the answer.
type plain struct{}

func (plain) Register(h *webbridge.Handler) {
	h.Handle("POST /v1/plain", func(w http.ResponseWriter, r *http.Request) error {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		ctx := r.Context()
		s, err := h.Host().Create(ctx, session.New{Owner: webbridge.User(ctx)}, nil)
		if err != nil {
			return err
		}
		defer func() { _ = s.Close(ctx) }()
		o, err := s.Prompt(ctx, host.Prompt{
			Parts: []model.Part{model.User(string(text))},
			Observe: func(e *agent.Event) {
				if e.Kind == agent.EventPartDelta || e.Kind == agent.EventPartStart {
					fmt.Fprintf(w, "data: %s\n\n", e.Text)
				}
			},
		})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", o.Reason)
		}
		return err
	})
}

func TestProtocolOfAProgram(t *testing.T) {
	paid := make(chan string, 2)
	s := serve(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}, Options: webbridge.Options{Protocols: []webbridge.Protocol{plain{}}}})
	r := s.request("POST", "/v1/plain", object{})
	status, text := s.send(r)
	require.Equal(t, 200, status)
	require.Contains(t, text, "data: pending\n\n")
	require.Empty(t, paid, "nobody can be asked, so nothing is paid")
	require.Equal(t, "unauthorized", func() string { s.token = ""; return s.refused("POST", "/v1/plain", object{}, 401) }())
	s.token = token
	require.Equal(t, "not_found", s.refused("POST", "/v1/other", object{}, 404))
}
