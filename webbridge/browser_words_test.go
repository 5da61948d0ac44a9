// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// TestRequestsOfBrowsersAreRefusedInWords compares what clients of the UI message stream and of AG-UI are told of requests that are
// refused, and the streams of requests that are taken, with a file. To write it anew, set UPDATE, and read what has changed.
func TestRequestsOfBrowsersAreRefusedInWords(t *testing.T) {
	h := newHandler(t, options{
		model: paying(), tools: []*toolset.Tool[none]{pay(make(chan string, 10))},
		host: host.Config[none, string]{Logger: slog.New(slog.DiscardHandler)},
		Options: webbridge.Options{
			Accepts:   []string{"image/png"},
			Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{Path: "/api/ui/"}), webbridge.AGUI(webbridge.AGUIOptions{Path: "/api/ag/"})},
			Limits:    webbridge.Limits{Prompt: 4096},
		},
	})
	t.Cleanup(func() { require.NoError(t, h.Shutdown(context.Background())) })
	var all []sent
	ui := func(body string) { all = append(all, sent{"POST", "/api/ui", body, nil}) }
	ag := func(body string) { all = append(all, sent{"POST", "/api/ag", body, nil}) }
	user := func(parts string) string { return `{"id":"m","role":"user","parts":[` + parts + `]}` }
	png := base64.StdEncoding.EncodeToString([]byte("\x89PNG\r\n\x1a\n"))
	for _, body := range []string{
		`[]`, `{`, `{}`, `{"messages":[]}`, `{"id":"c","messages":[` + user(``) + `],"trigger":"resume"}`, `{"id":"c","messages":[{"role":"system"}]}`,
		`{"id":"c","messages":[{"role":"assistant"}],"trigger":"regenerate-message"}`, `{"messages":[` + user(`{"type":"text","text":"x"}`) + `]}`,
		`{"id":"` + strings.Repeat("x", 257) + `","messages":[` + user(`{"type":"text","text":"x"}`) + `]}`, `{"id":"a\nb","messages":[` + user(`{"type":"text","text":"x"}`) + `]}`,
		`{"id":"c","messages":[{"role":"user","parts":7}]}`, `{"id":"c","messages":[` + user(``) + `]}`, `{"id":"c","messages":[` + user(`{"type":"text"}`) + `]}`,
		`{"id":"c","messages":[` + user(`{"type":"text","text":"x"},{"type":"widget"}`) + `]}`, `{"id":"nowhere","messages":[{"role":"assistant","parts":[]}]}`,
		`{"id":"c","messages":[{"role":"assistant","parts":7}]}`, `{"id":"c","messages":[{"id":"answer:x","role":"assistant","parts":[]}]}`, `{"id":"c","messages":[{"id":"x","role":"assistant","parts":[]}]}`,
		`{"id":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		ui(body)
	}
	for _, url := range []string{
		"https://a.example/a.png", strings.Repeat("s", 21) + ":x", strings.Repeat("s", 20) + ":x", "", "data:", "data:image/png;base64", "data:image/png;base64,!", "data:image/png;base64,", "data:/,x", "data:text/plain,%zz",
		"data:image/png;base64,eA==", "data:image/gif;base64,R0lGODlhAQABAA==",
	} {
		ui(`{"id":"c","messages":[` + user(`{"type":"text","text":"x"},{"type":"file","mediaType":"image/png","url":"`+url+`"}`) + `]}`)
	}
	for _, at := range []string{"GET /api/ui/nowhere/stream", "GET /api/ui/nowhere/messages", "GET /api/ui/c/messages", "GET /api/ui/" + strings.Repeat("x", 257) + "/stream"} {
		method, path, _ := strings.Cut(at, " ")
		all = append(all, sent{method, path, "", nil})
	}
	all = append(all, sent{"POST", "/api/ui/nowhere/stop", "{}", nil}, sent{"POST", "/api/ag/nowhere/stop", "{}", nil}, sent{"POST", "/api/ag/nowhere/stop", strings.Repeat("x", 4097), nil})
	message := func(content string) string {
		return `{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":` + content + `}]}`
	}
	for _, body := range []string{
		`[]`, `{`, `{}`, `{"runId":"` + strings.Repeat("x", 257) + `"}`, `{"runId":"r"}`, `{"threadId":"nowhere","runId":"r"}`, `{"threadId":"nowhere","runId":"` + strings.Repeat("x", 256) + `"}`,
		message(`""`), message(`7`), message(`[]`), message(`[{"type":"text"}]`), message(`[{"type":"widget"}]`), message(`[{"type":"text","text":"x"},{"type":"image"}]`),
		message(`[{"type":"image","source":{"type":"url","value":"https://a.example"}}]`), message(`[{"type":"image","source":{"type":"data","value":"eA==","mimeType":"image/png"}}]`),
		message(`[{"type":"document","metadata":{"filename":"a/b"},"source":{"type":"data","value":"` + png + `","mimeType":"image/png"}}]`),
		message(`[{"type":"video","source":{"type":"data","value":"!","mimeType":"image/png"}}]`), message(`[{"type":"audio","source":{"type":"data","value":"eA==","mimeType":"audio/wav"}}]`),
	} {
		ag(body)
	}
	// what is taken
	ui(`{"id":"taken","messages":[` + user(`{"type":"text","text":"pay"},{"type":"file","mediaType":"image/png","url":"data:image/png;base64,`+png+`"},{"type":"file","mediaType":"text/plain","filename":"a.txt","url":"data:text/plain,a%20b"},{"type":"file","mediaType":"text/plain","url":"data:,x"}`) + `]}`)
	ui(`{"id":"taken","messages":[` + user(`{"type":"text","text":"another"}`) + `]}`)
	all = append(all, sent{"GET", "/api/ui/taken/messages", "", nil})
	ag(message(`[{"type":"text","text":"pay"},{"type":"image","source":{"type":"data","value":"` + png + `","mimeType":"image/png"}},{"type":"document","metadata":{"filename":"a.txt"},"source":{"type":"data","value":"eA==","mimeType":"text/plain"}}]`))
	ag(message(`"another"`))
	ag(`{"threadId":"t","runId":"r"}`)
	for _, entry := range []string{
		`{"interruptId":"x","status":"resolved"}`, `{"interruptId":"` + strings.Repeat("x", 101) + `","status":"resolved"}`,
	} {
		ag(`{"threadId":"t","runId":"r","resume":[` + entry + `]}`)
	}
	got := apiChance.ReplaceAllString(steady(playedAPI(t, h, all)), "ID")
	got = random.ReplaceAllString(got, "ID")
	const path = "testdata/browser.want"
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)

	// the entries of an interrupt, whose id is known only now
	id := interruptOf(t, playedAPI(t, h, []sent{{"POST", "/api/ag", `{"threadId":"t","runId":"r"}`, nil}}))
	const wrong = `"message":"the answer to the interrupt \"ID\" is not valid: `
	for entry, says := range map[string]string{
		`"status":"resolved"`: wrong + `the payload must be an object with approved, which is true or false","code":"invalid_payload"`, `"status":"maybe"`: wrong + `its status is neither resolved nor cancelled","code":"invalid_payload"`,
		`"status":"resolved","payload":7`:                    wrong + `the payload must be an object with approved, which is true or false","code":"invalid_payload"`,
		`"status":"resolved","payload":{"approved":"yes"}`:   wrong + `the payload must be an object with approved, which is true or false","code":"invalid_payload"`,
		`"status":"resolved","payload":{"reason":"because"}`: wrong + `the payload must be an object with approved, which is true or false","code":"invalid_payload"`,
	} {
		text := playedAPI(t, h, []sent{{"POST", "/api/ag", fmt.Sprintf(`{"threadId":"t","runId":"r","resume":[{"interruptId":%q,%s}]}`, id, entry), nil}})
		require.Contains(t, strings.ReplaceAll(text, id, "ID"), says, entry)
	}
	for entry, says := range map[string]string{
		`"status":"cancelled"`: "The user cancelled this. The tool was not run.",
		`"status":"resolved","payload":{"approved":false,"reason":"It is not mine."}`: "It is not mine.",
		`"status":"resolved","payload":{"approved":false}`:                            "The user rejected this. The tool was not run.",
		`"status":"resolved","payload":{"approved":false,"editedArgs":{"to":"Eve"}}`:  "The user rejected this. The tool was not run.",
		`"status":"resolved","payload":{"approved":true,"editedArgs":{"to":"Eve"}}`:   "paid Eve",
		`"status":"resolved","payload":{"approved":true}`:                             "paid Ada",
	} {
		thread := fmt.Sprintf("thread-%d", len(entry))
		id := interruptOf(t, playedAPI(t, h, []sent{{"POST", "/api/ag", fmt.Sprintf(`{"threadId":%q,"runId":"r","messages":[{"id":"m","role":"user","content":"pay"}]}`, thread), nil}}))
		text := playedAPI(t, h, []sent{{"POST", "/api/ag", fmt.Sprintf(`{"threadId":%q,"runId":"r","resume":[{"interruptId":%q,%s}]}`, thread, id, entry), nil}})
		require.Contains(t, text, says, entry)
	}
}

// steady leaves out the events of streams that may come in any order, or in other pieces.
func steady(text string) string {
	var b strings.Builder
	left := false
	for line := range strings.Lines(text) {
		if left && line == "\n" { // the end of an event that is left out
			continue
		}
		left = strings.HasPrefix(line, "data: ") && !strings.Contains(line, `"RUN_`) && !strings.Contains(line, `"type":"start"`) && !strings.Contains(line, `"type":"finish"`)
		if !left {
			b.WriteString(line)
		}
	}
	return b.String()
}

// interruptOf returns the id of the first interrupt in a stream of AG-UI.
func interruptOf(t *testing.T, text string) string {
	t.Helper()
	_, rest, ok := strings.Cut(text, `"interrupts":[{"id":"`)
	require.True(t, ok, text)
	id, _, _ := strings.Cut(rest, `"`)
	return id
}
