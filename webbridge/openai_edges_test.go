// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
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

// TestStopsAreFoundInPieces has a model whose text comes in pieces. The answer ends before the first of the texts of stop, and what may
// be the beginning of one is held back no longer than needed.
func TestStopsAreFoundInPieces(t *testing.T) {
	for _, c := range []struct {
		pieces []string
		stop   string
		want   string
	}{
		{[]string{"All do", "ne."}, `"done"`, "All "}, {[]string{"All d", "o", "n", "e."}, `"done"`, "All "}, {[]string{"All do", "gs."}, `"done"`, "All dogs."}, {[]string{"All do"}, `"done"`, "All do"},
		{[]string{"aab"}, `"ab"`, "a"}, {[]string{"a", "ab"}, `"ab"`, "a"}, {[]string{"a", "a", "c"}, `"ab"`, "aac"}, {[]string{"x", "yz"}, `["yz","xy"]`, ""}, {[]string{"one two"}, `["two","one"]`, ""},
		{[]string{"one", " two"}, `["two","three"]`, "one "}, {[]string{"o", "n", "t", "h", "r", "e", "e"}, `["two","three"]`, "on"}, {[]string{"done"}, `"done"`, ""}, {[]string{"d", "d", "done"}, `"done"`, "dd"},
	} {
		for _, stream := range []bool{false, true} {
			bubble(t, func(t *testing.T) {
				m := model.Func(model.Info{Name: "pieces"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
					for _, piece := range c.pieces {
						if err := sink(model.Delta{Kind: model.PartText, Text: piece}); err != nil {
							return nil, err
						}
						time.Sleep(time.Second)
					}
					return model.Response(model.Text(strings.Join(c.pieces, ""))), nil
				})
				h := newHandler(t, options{model: m, Options: webbridge.Options{Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{})}}})
				w := httptest.NewRecorder()
				h.ServeHTTP(w, request(t.Context(), "POST", chatPath, fmt.Sprintf(`{"model":"agent","stream":%v,"stop":%s,"messages":[{"role":"user","content":"x"}]}`, stream, c.stop)))
				require.Equal(t, 200, w.Code)
				if stream {
					all, done := parsed(t, w.Body.String())
					text, reason := streamed(all)
					require.True(t, done)
					require.Equal(t, [2]string{c.want, "stop"}, [2]string{text, reason}, c)
				} else {
					v := openaiObject{}
					require.NoError(t, json.Unmarshal(w.Body.Bytes(), &v))
					require.Equal(t, c.want, openaiContent(v), c)
				}
				require.NoError(t, h.Shutdown(t.Context()))
			})
		}
	}
}
