// SPDX-License-Identifier: Apache-2.0

package adaptertest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
)

// disturbances are what the standard of server-sent events allows, and what proxies and servers add that is none of an
// answer's protocol. The answer is the same.
var disturbances = map[string]func(stream string) string{
	"CRLF":                   func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") },
	"CR":                     func(s string) string { return strings.ReplaceAll(s, "\n", "\r") },
	"mixed ends of lines":    mixedEnds,
	"a byte order mark":      func(s string) string { return "\ufeff" + s },
	"a mark, CRLF":           func(s string) string { return "\ufeff" + strings.ReplaceAll(s, "\n", "\r\n") },
	"no space after a colon": func(s string) string { return strings.ReplaceAll("\n"+s, "\ndata: ", "\ndata:")[1:] },
	"no last empty line":     func(s string) string { return strings.TrimRight(s, "\n") + "\n" },
	"no end of the last line": func(s string) string {
		return strings.TrimRight(s, "\n")
	},
	"empty lines":              between("\n\n\n"),
	"comments":                 between(": OPENROUTER PROCESSING\n\n"),
	"empty comments":           between(":\n\n"),
	"comments within events":   within(": still here\n"),
	"ids and retries":          within("id: 7\nretry: 3000\n"),
	"an id alone":              between("id: 7\n\n"),
	"unknown fields":           within("x-trace: 1\n"),
	"a name without data":      between("event: ping\n\n"),
	"empty data":               between("data:\n\n"),
	"a name and empty data":    between("event: ping\ndata:\n\n"),
	"ping with {}":             between("event: ping\ndata: {}\n\n"),
	"ping with its type":       between("event: ping\ndata: {\"type\": \"ping\"}\n\n"),
	"ping with a time":         between("event: ping\ndata: 2026-11-23T12:00:00Z\n\n"),
	"ping with a number":       between("event: ping\ndata: 1\n\n"),
	"ping with null":           between("event: ping\ndata: null\n\n"),
	"heartbeat with a text":    between("event: heartbeat\ndata: \"alive\"\n\n"),
	"keepalive with a number":  between("event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n"),
	"ping without a name":      between("data: {\"type\":\"ping\"}\n\n"),
	"keepalive, no name":       between("data: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n"),
	"an event of a proxy":      between("event: proxy.queue\ndata: {\"message\":\"position 3\",\"code\":7,\"type\":\"queue\"}\n\n"),
	"an event of a proxy, cut": between("event: proxy.queue\ndata: {\"position\":\n\n"),
}

// CheckDisturbed checks that a stream gives the same message and the same deltas however it is disturbed. The stream has
// its events in lines that end in LF. Own are further disturbances of the protocol; what others read is skipped for a reason.
func CheckDisturbed(t *testing.T, open func(t testing.TB, url string) model.Model, stream string, own map[string]func(string) string, skipped map[string]string) {
	generate := func(t *testing.T, body string) (*model.Message, string) {
		var told strings.Builder
		msg, err := open(t, Serve(t, Answer{Body: body, Header: map[string]string{"Content-Type": "text/event-stream"}}).URL).Generate(t.Context(), Hello(), func(d model.Delta) error {
			fmt.Fprintf(&told, "%d %s %q %q %q\n", d.Part, d.Kind, d.CallID, d.Tool, d.Text)
			return nil
		})
		require.NoError(t, err)
		return msg, told.String()
	}
	want, told := generate(t, stream)
	require.NotEmpty(t, want.Text())
	check := func(name string, disturb func(string) string) {
		t.Run(name, func(t *testing.T) {
			if why := skipped[name]; why != "" {
				t.Skip(why)
			}
			msg, again := generate(t, disturb(stream))
			require.Equal(t, want, msg)
			require.Equal(t, told, again)
		})
	}
	for name, disturb := range disturbances {
		check(name, disturb)
	}
	for name, disturb := range own {
		check(name, disturb)
	}
}

// KeepAlives are events that only keep a connection alive, in all protocols.
var KeepAlives = []string{
	": keep-alive\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n", "event: heartbeat\ndata: 1\n\n", "data: {\"type\":\"ping\"}\n\n",
	"event: keepalive\ndata: {\"type\":\"keepalive\",\"sequence_number\":3}\n\n", "event: ping\ndata:\n\n",
}

// between puts something before every event.
func between(what string) func(string) string {
	return func(stream string) string {
		return what + strings.ReplaceAll(strings.TrimSuffix(stream, "\n\n"), "\n\n", "\n\n"+what) + "\n\n"
	}
}

// within puts something before and after every line of an event.
func within(what string) func(string) string {
	return func(stream string) string {
		var b strings.Builder
		for line := range strings.Lines(stream) {
			if line == "\n" {
				b.WriteString(line)
			} else {
				b.WriteString(what + line + what)
			}
		}
		return b.String()
	}
}

// mixedEnds gives the lines all ends in turns.
func mixedEnds(stream string) string {
	var b strings.Builder
	n := 0
	for line := range strings.Lines(stream) {
		b.WriteString(strings.TrimSuffix(line, "\n"))
		end := []string{"\r\n", "\n", "\r"}[n%3]
		if strings.HasPrefix(end, "\n") && strings.HasSuffix(b.String(), "\r") {
			end = "\r\n" // an LF would belong to the CR before it
		}
		b.WriteString(end)
		n++
	}
	return b.String()
}
