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
		info, err := h.Create(r)
		if err != nil {
			return err
		}
		s, done, err := h.Use(r.Context(), info.ID)
		if err != nil {
			return err
		}
		defer done()
		deltas := make(chan string)
		t, err := s.Begin(r.Context(), webbridge.Turn{
			Parts: []model.Part{model.User(string(text))}, NoQuestions: true,
			Observe: func(e *agent.Event) {
				if e.Kind == agent.EventPartDelta || e.Kind == agent.EventPartStart {
					deltas <- e.Text
				}
			},
		})
		if err != nil {
			return err
		}
		out := h.Stream(w)
		for {
			select {
			case text := <-deltas:
				out.Write(func(b []byte) []byte { return fmt.Appendf(b, "data: %s\n\n", text) })
			case <-t.Done():
				out.Write(func(b []byte) []byte { return append(b, "data: "+t.Outcome().Reason+"\n\n"...) })
				return nil
			}
		}
	})
}

func TestProtocolOfAProgram(t *testing.T) {
	paid := make(chan string, 2)
	s := serve(t, options{model: paying(), tools: []*toolset.Tool[none]{pay(paid)}, Options: webbridge.Options{Protocols: []webbridge.Protocol{plain{}}}})
	r := s.request("POST", "/v1/plain", object{})
	status, text := s.send(r)
	require.Equal(t, 200, status)
	require.Contains(t, text, "data: done\n\n")
	require.Empty(t, paid, "nobody can be asked, so nothing is paid")
	require.Equal(t, "unauthorized", func() string { s.token = ""; return s.refused("POST", "/v1/plain", object{}, 401) }())
	s.token = token
	require.Equal(t, "not_found", s.refused("POST", "/v1/other", object{}, 404))
}
