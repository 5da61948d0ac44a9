// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// TestHandlersLeaveTheSessionsOfHostsThatGoOn shuts down a handler on the program's host. Its sessions are closed if the store has
// them. Sessions of hosts that keep nothing would be lost, and stay.
func TestHandlersLeaveTheSessionsOfHostsThatGoOn(t *testing.T) {
	for name, store := range map[string]session.Store{"durable": durable{new(session.Memory)}, "memory": nil} {
		bubble(t, func(t *testing.T) {
			var log strings.Builder
			own := newHandler(t, options{host: host.Config[none, string]{
				Store: store, Logger: slog.New(slog.DiscardHandler),
				Release: func(_ context.Context, s *host.Session, _ none) error {
					if s.ID() == "two" {
						return errors.New("at /secret/path")
					}
					return nil
				},
			}})
			h, err := webbridge.On(own.Host(), webbridge.Options{Token: token, Logger: slog.New(slog.NewTextHandler(&log, nil))})
			require.NoError(t, err)
			call := recorded(t, h)
			require.Equal(t, object{"title": "Agent", "version": "", "accepts": []any{}, "store": name == "durable", "commands": []any{}, "files": false, "scores": false}, call("GET", "/api/config", "", 200))
			for _, id := range []string{"one", "two"} {
				_, err := own.Host().Store().Create(t.Context(), session.New{ID: id})
				require.NoError(t, err)
				call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, 202)
			}
			synctest.Wait()
			require.Len(t, own.Host().Sessions(), 2)
			require.NoError(t, h.Shutdown(t.Context()))
			if name == "durable" {
				require.Empty(t, own.Host().Sessions())
				require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
				require.Contains(t, log.String(), `msg="webbridge: a session was not closed" session=two`)
			} else {
				require.Len(t, own.Host().Sessions(), 2)
				require.Empty(t, log.String())
			}
			_ = own.Shutdown(t.Context())
		})
	}
}

// TestUnusedSessionsOfHostsThatKeepNothingStay has a handler on a host in memory: its sessions do not end when nobody uses them.
func TestUnusedSessionsOfHostsThatKeepNothingStay(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			var store session.Store
			if keeps {
				store = durable{new(session.Memory)}
			}
			own := newHandler(t, options{host: host.Config[none, string]{Store: store}})
			h, err := webbridge.On(own.Host(), webbridge.Options{Token: token, Linger: time.Minute})
			require.NoError(t, err)
			call := recorded(t, h)
			id := call("POST", "/api/sessions", "{}", 201)["id"].(string)
			for range 2 { // each use begins the time anew
				call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"x"}]}`, 202)
				synctest.Wait()
				time.Sleep(time.Minute - time.Nanosecond)
				synctest.Wait()
				require.Len(t, own.Host().Sessions(), 1)
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			require.Equal(t, keeps, len(own.Host().Sessions()) == 0)
			require.NoError(t, h.Shutdown(t.Context()))
			require.NoError(t, own.Shutdown(t.Context()))
		})
	}
}

// TestTurnGoesOnForWhoComesBack has followers that leave. While there is another one, or one that comes back in time, the turn goes on.
func TestTurnGoesOnForWhoComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		h := newHandler(t, options{model: g.model(), Options: webbridge.Options{Leave: time.Minute, Linger: time.Hour}})
		call := recorded(t, h)
		id := call("POST", "/api/sessions", `{}`, 201)["id"].(string)
		follow := func() (leave func()) {
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() {
				h.ServeHTTP(discard{http.Header{}}, request(ctx, "GET", "/api/sessions/"+id+"/events", ""))
				close(ended)
			}()
			synctest.Wait()
			return func() { cancel(); <-ended }
		}
		first, second := follow(), follow()
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)
		first()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Contains(t, metrics(h), "ponte_web_turns_running 1\n", "another one follows")
		second()
		time.Sleep(time.Minute - time.Nanosecond)
		third := follow()
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Contains(t, metrics(h), "ponte_web_turns_running 1\n", "one came back in time")
		third()
		time.Sleep(time.Minute)
		synctest.Wait()
		require.Contains(t, metrics(h), `turns_total{reason="cancelled"} 1`)
		follow()() // without a turn, nothing is cancelled
		time.Sleep(time.Minute)
		synctest.Wait()
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"two"}]}`, 202)
		g.answer <- "done"
		synctest.Wait()
		require.Contains(t, metrics(h), `turns_total{reason="done"} 1`)
		require.NoError(t, h.Shutdown(t.Context()))
	})
}

// payingForLong pays Ada, and then thinks until it is stopped.
func payingForLong() model.Model {
	return modeltest.Func(func(ctx context.Context, req *model.Request) (*model.Message, error) {
		if n, _ := returns(req); n == 0 {
			return model.Response(model.ToolCall("a", "pay", `{"to":"Ada"}`)), nil
		}
		<-ctx.Done()
		return nil, ctx.Err()
	})
}

// TestDecisionsOfClientsThatLeave has clients of both protocols for browsers that answer a question and leave. The turn that goes on
// is cancelled only if the program wants that.
func TestDecisionsOfClientsThatLeave(t *testing.T) {
	for _, cancels := range []bool{false, true} {
		for _, path := range []string{"/api/chat", "/api/agui"} {
			bubble(t, func(t *testing.T) {
				h := newHandler(t, options{
					model: payingForLong(), tools: []*toolset.Tool[none]{pay(make(chan string, 4))}, host: host.Config[none, string]{Logger: slog.New(slog.DiscardHandler)},
					Options: webbridge.Options{Protocols: []webbridge.Protocol{
						webbridge.UIStream(webbridge.UIStreamOptions{CancelOnLeave: cancels}), webbridge.AGUI(webbridge.AGUIOptions{CancelOnLeave: cancels}),
					}},
				})
				post := func(ctx context.Context, body string) string {
					w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
					h.ServeHTTP(w, request(ctx, "POST", path, body))
					require.Equal(t, 200, w.Code, w.text())
					return w.text()
				}
				var answer string
				if path == "/api/agui" {
					id := interruptOf(t, post(t.Context(), `{"threadId":"one","runId":"r","messages":[{"id":"m","role":"user","content":"pay"}]}`))
					answer = `{"threadId":"one","runId":"r","resume":[{"interruptId":"` + id + `","status":"resolved","payload":{"approved":true}}]}`
				} else {
					text := post(t.Context(), `{"id":"one","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"pay"}]}]}`)
					between := func(before string) string {
						_, rest, ok := strings.Cut(text, before)
						require.True(t, ok, text)
						rest, _, _ = strings.Cut(rest, `"`)
						return rest
					}
					answer = fmt.Sprintf(`{"id":"one","messages":[{"id":%q,"role":"assistant","parts":[{"type":"tool-pay","toolCallId":%q,"state":"approval-responded","input":{"to":"Ada"},"approval":{"id":%q,"approved":true}}]}]}`,
						between(`"messageId":"`), between(`"toolCallId":"`), between(`"approvalId":"`))
				}
				ctx, leave := context.WithTimeout(t.Context(), time.Second)
				text := post(ctx, answer)
				leave()
				require.Contains(t, text, "paid Ada")
				require.NotContains(t, text, "finish")
				synctest.Wait()
				require.Equal(t, cancels, strings.Contains(metrics(h), `turns_total{reason="cancelled"} 1`), metrics(h))
				ctx, end := context.WithCancel(t.Context())
				end()
				_ = h.Shutdown(ctx)
			})
		}
	}
}
