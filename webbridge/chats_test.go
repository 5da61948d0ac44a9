// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/webbridge"
)

var chats = flag.Int("chats", 60, "how many chats go on at the same time")

const deltas = 100

// counting streams the numbers up to deltas.
func counting() model.Model {
	return model.Func(model.Info{Provider: "test", Name: "counting"}, func(_ context.Context, _ *model.Request, sink model.Sink) (*model.Message, error) {
		var all strings.Builder
		for i := range deltas {
			text := fmt.Sprintf("%d ", i)
			all.WriteString(text)
			if sink != nil {
				if err := sink(model.Delta{Kind: model.PartText, Text: text}); err != nil {
					return nil, err
				}
			}
			runtime.Gosched()
		}
		return model.Response(model.Text(all.String())), nil
	})
}

func counted() string {
	var b strings.Builder
	for i := range deltas {
		fmt.Fprintf(&b, "%d ", i)
	}
	return b.String()
}

var unlimited = webbridge.Limits{Streams: -1, UserStreams: -1, UserTurns: -1, UserPrompts: -1}

func TestConcurrentChatsLoseNothing(t *testing.T) {
	s := serve(t, options{model: counting(), Options: webbridge.Options{Limits: unlimited}})
	var all sync.WaitGroup
	for range *chats {
		all.Go(func() { chat(t, s) })
	}
	all.Wait()
}

// chat sends a prompt and follows the answer to its end.
func chat(t testing.TB, s *server) {
	path := s.create()
	s.do("POST", path+"/prompts", say("count"), 202)
	f := s.follow(path, "")
	f.until(func() bool { return !f.running && f.has("99 ")() })
	_ = f.res.Body.Close()
	for e := range f.fold.Snapshot().Of(view.Message) {
		if e.Role == view.Assistant {
			if e.Text() != counted() {
				t.Errorf("got %q", e.Text())
			}
			return
		}
	}
	t.Error("there is no answer")
}

// A chat that waits for its model has a turn, a stream and a session. The network is not counted.
func TestWaitingChatIsSmall(t *testing.T) {
	const n = 200
	g := newGate()
	g.asked = make(chan string, n)
	h := newHandler(t, options{model: g.model(), Options: webbridge.Options{Limits: unlimited}})
	call := recorded(t, h)
	ctx, cancel := context.WithCancel(t.Context())
	var streams sync.WaitGroup
	one := func() {
		id := call("POST", "/api/sessions", `{}`, 201)["id"].(string)
		w := &probe{header: http.Header{}, wrote: make(chan struct{})}
		streams.Go(func() { h.ServeHTTP(w, request(ctx, "GET", "/api/sessions/"+id+"/events", "")) })
		<-w.wrote
		call("POST", "/api/sessions/"+id+"/prompts", `{"parts":[{"text":"one"}]}`, 202)
		<-g.asked
	}
	one()
	before := memory()
	for range n {
		one()
	}
	each := (memory() - before) / n
	t.Logf("%d bytes each", each)
	bound := uint64(64 << 10)
	if raceEnabled { // which makes every stack and allocation larger
		bound *= 2
	}
	require.Less(t, each, bound)
	cancel()
	streams.Wait()
	ended, end := context.WithCancel(context.Background())
	end()
	require.ErrorIs(t, h.Shutdown(ended), context.Canceled)
}

func memory() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// BenchmarkChats compares chats with those of a handler written by hand, which streams the same model's deltas and keeps nothing.
func BenchmarkChats(b *testing.B) {
	b.Run("webbridge", func(b *testing.B) {
		s := serve(b, options{model: counting(), Options: webbridge.Options{Limits: unlimited}})
		inParallel(b, func() {
			path := post(b, s, "/api/sessions", `{}`)["id"].(string)
			path = "/api/sessions/" + path
			post(b, s, path+"/prompts", `{"parts":[{"text":"count"}]}`)
			read(b, s.request("GET", path+"/events", nil), `{"running":false}`, "99 ")
		})
	})
	b.Run("api/chat", func(b *testing.B) {
		s := serve(b, options{model: counting(), Options: webbridge.Options{Limits: unlimited, Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{})}}})
		var n atomic.Int64
		inParallel(b, func() {
			read(b, s.request("POST", "/api/chat", object{"id": fmt.Sprint("chat-", n.Add(1)), "messages": []object{
				{"id": "m", "role": "user", "parts": []object{{"type": "text", "text": "count"}}},
			}}), "[DONE]", "99 ")
		})
	})
	b.Run("v1", func(b *testing.B) {
		s := serve(b, options{model: counting(), Options: webbridge.Options{Limits: unlimited, Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{})}}})
		inParallel(b, func() {
			read(b, s.request("POST", "/v1/chat/completions", object{
				"model": "agent", "stream": true, "messages": []object{{"role": "user", "content": "count"}},
			}), "[DONE]", "99 ")
		})
	})
	b.Run("by hand", func(b *testing.B) {
		m := counting()
		s := &server{Server: httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			var in object
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
				b.Error(err)
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, err := m.Generate(r.Context(), &model.Request{}, func(d model.Delta) error {
				data, err := json.Marshal(object{"type": "delta", "text": d.Text})
				if err == nil {
					_, err = fmt.Fprintf(w, "data: %s\n\n", data)
				}
				w.(http.Flusher).Flush()
				return err
			})
			if err != nil {
				b.Error(err)
			}
			_, _ = io.WriteString(w, "data: [DONE]\n\n")
		})), t: b}
		b.Cleanup(s.Close)
		inParallel(b, func() { read(b, s.request("POST", "/", object{"text": "count"}), "[DONE]", "99 ") })
	})
}

// inParallel runs b.N chats, a hundred at a time.
func inParallel(b *testing.B, f func()) {
	b.SetParallelism(50)
	before := used()
	defer func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			f()
		}
	})
}

// pooled keeps its connections, as browsers do.
var pooled = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}

func post(b *testing.B, s *server, path, body string) (v object) {
	r := s.request("POST", path, nil)
	r.Body = io.NopCloser(strings.NewReader(body))
	res, err := pooled.Do(r)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err == nil {
		err = json.Unmarshal(data, &v)
	}
	if err != nil {
		b.Error(err)
	}
	return v
}

// read reads a stream until both texts were in it.
func read(b *testing.B, r *http.Request, texts ...string) {
	res, err := pooled.Do(r)
	if err != nil {
		b.Error(err)
		return
	}
	defer func() { _ = res.Body.Close() }()
	for lines := bufio.NewReader(res.Body); len(texts) > 0; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			b.Error(err)
			return
		}
		texts = slices.DeleteFunc(texts, func(text string) bool { return bytes.Contains(line, []byte(text)) })
	}
}
