// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// Whatever is wrong before the host of a URL, the model is told one thing.
func TestURLsOfOtherSchemesAreOneMistake(t *testing.T) {
	for _, u := range []string{
		"example.com", "example.com/x", "example.com:443/x", "localhost:8080", "127.0.0.1:8080/x", "[::1]:80", "/x", "//example.com/x", "ftp://example.com/x",
		"file:///etc/passwd", "javascript:alert(1)", "data:text/plain,x", "mailto:a@example.com", "https:/example.com", "https:example.com", "://x", "%zz",
	} {
		args, err := json.Marshal(map[string]string{"url": u})
		require.NoError(t, err)
		a := agent.Must(agent.New(agent.Config[struct{}, string]{
			Model:        modeltest.Script(modeltest.Say(model.ToolCall("1", webfetch.ToolFetch, string(args))), modeltest.SayText("ok")),
			Capabilities: []agent.Capability[struct{}]{webfetch.New[struct{}](webfetch.Options{AllowAll: true})},
		}))
		res, err := a.Run(t.Context(), struct{}{}, "go")
		require.NoError(t, err)
		require.Contains(t, res.Messages[2].Parts[0].Text, "the URL must begin with https:// or http://", u)
	}
}
