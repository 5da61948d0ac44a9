// SPDX-License-Identifier: Apache-2.0

package googledialect_test

import (
	"testing"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adaptertest"
)

// Google's SDK reads the stream. It knows lines of data alone.
var unknownToSDK = []string{
	"CR", "a byte order mark", "a mark, CRLF", "empty lines", "comments", "empty comments", "comments within events",
	"ids and retries", "an id alone", "unknown fields", "a name without data", "empty data", "a name and empty data",
	"ping with {}", "ping with its type", "ping with a time", "ping with a number", "ping with null", "heartbeat with a text",
	"keepalive with a number", "an event of a proxy", "an event of a proxy, cut",
}

func TestDisturbedStreamIsTheSameAnswer(t *testing.T) {
	stream := "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hello, \"}]},\"index\":0}]}\n\n" +
		"data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"wörld\"}]},\"finishReason\":\"STOP\",\"index\":0}]}\n\n"
	skipped := map[string]string{}
	for _, name := range unknownToSDK {
		skipped[name] = "the plugin's SDK cannot read this"
	}
	open := func(t testing.TB, url string) model.Model { return open(t, url, "gemini-2.5-flash") }
	adaptertest.CheckDisturbed(t, open, stream, nil, skipped)
}
