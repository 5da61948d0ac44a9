// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log/slog"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// broken is a store that fails in one operation, from some call of it on.
type broken struct {
	session.Store
	mu    sync.Mutex
	op    string
	after int // so many calls succeed
}

func (b *broken) fail(op string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.op != op {
		return nil
	}
	if b.after--; b.after >= 0 {
		return nil
	}
	return &session.Error{Op: op, Session: "one", Err: session.ErrUnavailable}
}

// from has an operation fail from a call on.
func (b *broken) from(op string, after int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.op, b.after = op, after
}

func (b *broken) Create(ctx context.Context, n session.New) (session.Info, error) {
	if err := b.fail("create"); err != nil {
		return session.Info{}, err
	}
	return b.Store.Create(ctx, n)
}

func (b *broken) Get(ctx context.Context, id string) (session.Info, error) {
	if err := b.fail("get"); err != nil {
		return session.Info{}, err
	}
	return b.Store.Get(ctx, id)
}

func (b *broken) List(ctx context.Context, q session.Query) (session.Page, error) {
	if err := b.fail("list"); err != nil {
		return session.Page{}, err
	}
	return b.Store.List(ctx, q)
}

func (b *broken) Update(ctx context.Context, id string, c session.Change) (session.Info, error) {
	if err := b.fail("update"); err != nil {
		return session.Info{}, err
	}
	return b.Store.Update(ctx, id, c)
}

func (b *broken) Fork(ctx context.Context, id string, at int64, n session.New) (session.Info, error) {
	if err := b.fail("fork"); err != nil {
		return session.Info{}, err
	}
	return b.Store.Fork(ctx, id, at, n)
}

func (b *broken) Delete(ctx context.Context, id string) error {
	if err := b.fail("delete"); err != nil {
		return err
	}
	return b.Store.Delete(ctx, id)
}

func (b *broken) Acquire(ctx context.Context, id string, c session.Claim) (session.Lease, error) {
	if err := b.fail("acquire"); err != nil {
		return session.Lease{}, err
	}
	return b.Store.Acquire(ctx, id, c)
}

func (b *broken) Append(ctx context.Context, l session.Lease, head int64, batch session.Batch) (int64, error) {
	if err := b.fail("append"); err != nil {
		return 0, err
	}
	return b.Store.Append(ctx, l, head, batch)
}

func (b *broken) Load(ctx context.Context, id string, after int64) iter.Seq2[session.Entry, error] {
	if err := b.fail("load"); err != nil {
		return func(yield func(session.Entry, error) bool) { yield(session.Entry{}, err) }
	}
	return b.Store.Load(ctx, id, after)
}

func (b *broken) Put(ctx context.Context, id string, i session.Item) (session.Item, error) {
	if err := b.fail("put"); err != nil {
		return session.Item{}, err
	}
	return b.Store.Put(ctx, id, i)
}

func (b *broken) Change(ctx context.Context, id, item string, version int64, data json.RawMessage) (session.Item, error) {
	if err := b.fail("change"); err != nil {
		return session.Item{}, err
	}
	return b.Store.Change(ctx, id, item, version, data)
}

func (b *broken) Items(ctx context.Context, id string, after int64, kinds ...session.ItemKind) iter.Seq2[session.Item, error] {
	if err := b.fail("items"); err != nil {
		return func(yield func(session.Item, error) bool) { yield(session.Item{}, err) }
	}
	return b.Store.Items(ctx, id, after, kinds...)
}

// TestBrokenStoresInWords makes each request to a server whose store fails in one operation, and compares what the client is told with
// a file. In the session a call waits for approval. To write the file anew, set UPDATE, and read what has changed.
func TestBrokenStoresInWords(t *testing.T) {
	const at = "/api/sessions/one"
	requests := []struct{ name, method, path, body string }{
		{"list", "GET", "/api/sessions", ""}, {"search", "GET", "/api/sessions?q=o", ""}, {"create", "POST", "/api/sessions", "{}"}, {"get", "GET", at, ""},
		{"rename", "PATCH", at, `{"title":"x"}`}, {"delete", "DELETE", at, ""}, {"rewind", "POST", at + "/rewind", `{"before":"PROMPT"}`}, {"fork", "POST", at + "/fork", `{"before":"PROMPT"}`},
		{"prompt", "POST", at + "/prompts", `{"parts":[{"text":"x"}]}`}, {"prompt that waits", "POST", at + "/prompts", `{"parts":[{"text":"x"}],"busy":"wait"}`},
		{"cancel", "POST", at + "/cancel", ""}, {"set", "PUT", at + "/settings/mode", `{"value":"plan"}`}, {"permissions", "GET", at + "/permissions", ""},
		{"waiting", "GET", at + "/waiting", ""}, {"edit what waits", "PUT", at + "/waiting/p", `{"version":1,"parts":[{"text":"x"}]}`}, {"remove what waits", "DELETE", at + "/waiting/p", `{"version":1}`},
		{"allow", "POST", at + "/questions/QUESTION", `{"digest":"DIGEST","choice":"allow_once"}`}, {"answer another", "POST", at + "/questions/none", `{"digest":"DIGEST","choice":"allow_once"}`},
		{"events", "GET", at + "/events", ""}, {"feed", "GET", "/api/events?follow=one", ""}, {"scores", "GET", at + "/scores", ""}, {"mark", "PUT", at + "/scores/PROMPT", `{"good":true}`},
		{"ui message", "POST", "/api/chat", `{"id":"one","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"x"}]}]}`},
		{"ui message again", "POST", "/api/chat", `{"id":"one","messageId":"PROMPT","messages":[{"id":"PROMPT","role":"user","parts":[{"type":"text","text":"x"}]}]}`},
		{"ui decision", "POST", "/api/chat", `{"id":"one","messages":[{"id":"ANSWER","role":"assistant","parts":[{"type":"tool-pay","toolCallId":"c","state":"approval-responded","input":{"to":"Ada"},"approval":{"id":"DIGEST","approved":true}}]}]}`},
		{"ui messages", "GET", "/api/chat/one/messages", ""}, {"ui stream", "GET", "/api/chat/one/stream", ""}, {"ui stop", "POST", "/api/chat/one/stop", "{}"}, {"ui first message", "POST", "/api/chat", `{"id":"new","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":"x"}]}]}`},
		{"ag message", "POST", "/api/agui", `{"threadId":"one","runId":"r","messages":[{"id":"m","role":"user","content":"x"}]}`}, {"ag message again", "POST", "/api/agui", `{"threadId":"one","runId":"r","messages":[{"id":"PROMPT","role":"user","content":"x"}]}`},
		{"ag resume", "POST", "/api/agui", `{"threadId":"one","runId":"r","resume":[{"interruptId":"DIGEST","status":"resolved","payload":{"approved":true}}]}`},
		{"ag look", "POST", "/api/agui", `{"threadId":"one","runId":"r"}`}, {"ag stop", "POST", "/api/agui/one/stop", "{}"},
	}
	var got strings.Builder
	for _, r := range requests {
		usual := ""
		for _, op := range []string{"", "create", "get", "list", "update", "fork", "delete", "acquire", "append", "load", "put", "change", "items"} {
			for after := range 2 {
				if op == "" && after > 0 {
					continue
				}
				bubble(t, func(t *testing.T) {
					told := toldOf(t, r.method, r.path, r.body, op, after)
					switch {
					case op == "":
						usual = told
						fmt.Fprintf(&got, "%s: %s\n", r.name, told)
					case told != usual: // what makes no difference is left out
						fmt.Fprintf(&got, "%s, %s fails after %d: %s\n", r.name, op, after, told)
					}
				})
			}
		}
	}
	text := got.String()
	const path = "testdata/broken.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), text)
}

// toldOf returns what a client is told if an operation of the store fails from a call on. The client of a stream leaves after a second.
func toldOf(t *testing.T, method, path, body, op string, after int) string {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	store := &broken{Store: new(session.Memory)}
	h := newHandler(t, options{
		model: paying(), tools: []*toolset.Tool[none]{pay(make(chan string, 10))},
		host: host.Config[none, string]{Store: durable{store}, Logger: quiet, Modes: host.Modes(), Holder: "here"},
		Options: webbridge.Options{
			Patience: -1, Linger: time.Second, Logger: quiet, Scores: &board{all: map[string][]webbridge.Score{}},
			Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{})},
		},
	})
	_, err := store.Create(t.Context(), session.New{ID: "one"})
	require.NoError(t, err)
	call := recorded(t, h)
	turn := call("POST", "/api/sessions/one/prompts", `{"parts":[{"text":"pay"}]}`, 202)["turn"].(string)
	synctest.Wait()
	f := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	ctx, leave := context.WithTimeout(t.Context(), time.Second)
	h.ServeHTTP(f, request(ctx, "GET", "/api/sessions/one/events", ""))
	leave()
	_, question, _ := strings.Cut(f.text(), `"entity":{"id":"question:`)
	question, rest, ok := strings.Cut("question:"+question, `"`)
	require.True(t, ok, f.text())
	_, digest, _ := strings.Cut(rest, `"digest":"`)
	digest, _, _ = strings.Cut(digest, `"`)
	time.Sleep(2 * time.Second) // the session is closed
	synctest.Wait()
	require.Empty(t, h.Host().Sessions())

	names := strings.NewReplacer("PROMPT", "prompt:"+turn, "ANSWER", "answer:"+turn, "QUESTION", question, "DIGEST", digest)
	store.from(op, after)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	ctx, leave = context.WithTimeout(t.Context(), time.Second)
	h.ServeHTTP(w, request(ctx, method, names.Replace(path), names.Replace(body)))
	leave()
	store.from("", 0)
	require.NoError(t, h.Shutdown(t.Context()))
	if w.Header().Get("Content-Type") == "text/event-stream" {
		return fmt.Sprint(w.Code, " ", kindsOf(w.text()))
	}
	told := brokenChance.ReplaceAllString(strings.TrimSpace(w.text()), "ID")
	if len(told) > 400 {
		told = told[:400] + "…"
	}
	return fmt.Sprint(w.Code, " ", told)
}

var brokenChance = regexp.MustCompile(`[A-Z2-7]{26}|\d{4}-\d\d-\d\dT[0-9:.]+Z|[0-9a-f]{64}|[0-9a-f]{32}|chat-[a-z2-7]{32}`)

// kindsOf returns how a stream begins and ends, in the words of its protocol.
func kindsOf(text string) string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "event: end") || strings.Contains(line, `"end":`) || strings.Contains(line, `"type":"finish"`) || strings.Contains(line, "RUN_") ||
			strings.Contains(line, `"error":`) || strings.Contains(line, "tool-output") || strings.Contains(line, "TOOL_CALL_RESULT") || strings.Contains(line, `{"running":`) {
			all = append(all, brokenChance.ReplaceAllString(line, "ID"))
		}
	}
	return strings.Join(all, " | ")
}
