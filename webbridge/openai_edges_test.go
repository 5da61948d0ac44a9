// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// TestEmptyMessagesAreNone has messages of the assistant that say nothing between those of the user, which are then one prompt.
func TestEmptyMessagesAreNone(t *testing.T) {
	for between, want := range map[string][]string{
		`{"role":"assistant","content":""}`: {"One|Two"}, `{"role":"assistant"}`: {"One|Two"}, `{"role":"assistant","content":null,"refusal":""}`: {"One|Two"}, `{"role":"assistant","content":[]}`: {"One|Two"},
		`{"role":"assistant","content":[{"type":"text","text":""}]}`: {"One|Two"}, `{"role":"user","content":""}`: {"One|Two"},
		`{"role":"assistant","content":null,"refusal":"No."}`: {"One", "No.", "Two"}, `{"role":"assistant","content":"Yes.","refusal":"No."}`: {"One", "Yes.", "Two"},
		`{"role":"assistant","content":[{"type":"refusal","refusal":"No."},{"type":"text","text":"Well."}]}`: {"One", "No.|Well.", "Two"},
	} {
		s := openaiServe(t, openaiOptions{})
		s.post(chatPath, `{"model":"agent","messages":[{"role":"user","content":"One"},`+between+`,{"role":"user","content":"Two"}]}`, 200)
		var got []string
		for _, m := range s.seen[0].Messages {
			var texts []string
			for _, p := range m.Parts {
				texts = append(texts, p.Text)
			}
			got = append(got, strings.Join(texts, "|"))
		}
		require.Equal(t, want, got, between)
	}
}

// TestSilentAnswersAreKeptAlive has a model that thinks for long. A stream has a comment every 15 seconds; an answer that is not
// streamed has nothing before its end.
func TestSilentAnswersAreKeptAlive(t *testing.T) {
	for _, path := range []string{chatPath, responsesPath} {
		for _, stream := range []bool{true, false} {
			bubble(t, func(t *testing.T) {
				g := newGate()
				h := newHandler(t, options{model: g.model(), Options: webbridge.Options{Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{})}}})
				w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
				body := fmt.Sprintf(`{"model":"agent","stream":%v,"messages":[{"role":"user","content":"x"}]}`, stream)
				if path == responsesPath {
					body = fmt.Sprintf(`{"model":"agent","stream":%v,"input":"x"}`, stream)
				}
				ended := make(chan struct{})
				go func() { h.ServeHTTP(w, request(t.Context(), "POST", path, body)); close(ended) }()
				synctest.Wait()
				for n := range 3 {
					time.Sleep(15*time.Second - time.Nanosecond)
					synctest.Wait()
					if stream {
						require.Equal(t, n, strings.Count(w.text(), ":\n\n"))
					} else {
						require.Empty(t, w.text())
					}
					time.Sleep(time.Nanosecond)
					synctest.Wait()
				}
				if stream {
					require.Equal(t, 3, strings.Count(w.text(), ":\n\n"), "a comment is not an event")
				} else {
					require.Empty(t, w.text())
				}
				g.answer <- "done"
				<-ended
				require.Contains(t, w.text(), "done")
				require.Equal(t, 200, w.Code)
				require.NoError(t, h.Shutdown(t.Context()))
			})
		}
	}
}

// unsayable has no JSON form.
type unsayable struct {
	Name string `json:"name"`
}

func (unsayable) MarshalJSON() ([]byte, error) { return nil, errors.New("it cannot be said") }

// TestTextAndOutputAreTwoItems has a model that says something and gives its output at once. An output without a JSON form is null. Two
// handlers have the same options, and each answers for its own agent.
func TestTextAndOutputAreTwoItems(t *testing.T) {
	type city struct {
		Name string `json:"name"`
	}
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		return model.Response(model.Text("I think."), model.ToolCall("o", req.Tools[len(req.Tools)-1].Name, `{"name":"Oslo"}`)), nil
	})
	says := func(h *webbridge.Handler) *openaiServer { return serveHandler(t, h) }
	o := webbridge.Options{Token: openaiToken, Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{})}, Logger: slog.New(slog.DiscardHandler)}
	known, err := webbridge.New(webbridge.Config[openaiNone, city]{Host: host.Config[openaiNone, city]{Agent: agent.Must(agent.New(agent.Config[openaiNone, city]{Model: m}))}, Options: o})
	require.NoError(t, err)
	odd, err := webbridge.New(webbridge.Config[openaiNone, unsayable]{Host: host.Config[openaiNone, unsayable]{Agent: agent.Must(agent.New(agent.Config[openaiNone, unsayable]{Model: m})), Logger: slog.New(slog.DiscardHandler)}, Options: o})
	require.NoError(t, err)
	for want, s := range map[string]*openaiServer{`{"name":"Oslo"}`: says(known), "null": says(odd)} {
		v, _ := s.post(responsesPath, `{"model":"agent","input":"x"}`, 200)
		var texts []string
		for _, item := range v["output"].([]any) {
			require.Equal(t, "completed", item.(openaiObject)["status"])
			texts = append(texts, item.(openaiObject)["content"].([]any)[0].(openaiObject)["text"].(string))
		}
		require.Equal(t, []string{"I think.", want}, texts)
		v, _ = s.post(chatPath, chatOf("x"), 200)
		require.Equal(t, "I think.\n\n"+want, openaiContent(v))
	}
}
