// SPDX-License-Identifier: Apache-2.0

//go:build unix

package work

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

func listen() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }

// streamWords returns the pieces of the streamed answer.
func streamWords() []string {
	words := strings.Fields("A goroutine is a function that runs at the same time as others in one address space, and costs little " +
		"more than its stack, which begins small and grows as it is needed.")
	pieces := make([]string, StreamChunks)
	for i := range pieces {
		pieces[i] = " " + words[i%len(words)]
	}
	return pieces
}

// streamEvents are the events of an answer, in the shape in which OpenAI sends them.
var streamEvents = sync.OnceValue(func() [][]byte {
	event := func(choices, usage string) []byte {
		return fmt.Appendf(nil, `data: {"id":"chatcmpl-CZqK2kJ7m3b0pQyT1vXw9sLd4uNaE","object":"chat.completion.chunk","created":1795312800,`+
			`"model":"gpt-5-mini-2025-08-07","service_tier":"default","system_fingerprint":"fp_5f3c1a0b9e","choices":%s,"usage":%s,`+
			`"obfuscation":"q7Zb1xTn"}`+"\n\n", choices, usage)
	}
	choice := func(delta, finish string) string {
		return fmt.Sprintf(`[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}]`, delta, finish)
	}
	events := [][]byte{event(choice(`{"role":"assistant","content":"","refusal":null}`, "null"), "null")}
	for _, piece := range streamWords() {
		events = append(events, event(choice(fmt.Sprintf(`{"content":%q}`, piece), "null"), "null"))
	}
	last := event("[]", `{"prompt_tokens":18,"completion_tokens":200,"total_tokens":218,"prompt_tokens_details":{"cached_tokens":0,"audio_tokens":0},`+
		`"completion_tokens_details":{"reasoning_tokens":0,"audio_tokens":0,"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}`)
	return append(events, event(choice("{}", `"stop"`), "null"), last, []byte("data: [DONE]\n\n"))
})

// Where the server answers at the pace of [ChunkInterval], and where as fast as it can.
const (
	pacedPath   = "/paced/v1"
	unpacedPath = "/unpaced/v1"
)

// serveStream sends the answer.
func serveStream(w http.ResponseWriter, req *http.Request) {
	_, _ = io.Copy(io.Discard, req.Body)
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	flusher := http.NewResponseController(w)
	paced := strings.HasPrefix(req.URL.Path, pacedPath)
	pace := time.NewTicker(ChunkInterval)
	defer pace.Stop()
	for i, event := range streamEvents() {
		if paced && i > 0 && i <= StreamChunks { // the end comes at once
			<-pace.C
		}
		if _, err := w.Write(event); err != nil {
			return
		}
		if err := flusher.Flush(); err != nil {
			return
		}
	}
}
