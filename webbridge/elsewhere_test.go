// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

// TestStreamsShowTheEndOfTurnsOfOtherServers has two tabs answer the same question, one at each of two servers. A third tab
// is loaded anew at the other server, and so is a page that speaks AG-UI. All of them are shown the final text.
func TestStreamsShowTheEndOfTurnsOfOtherServers(t *testing.T) {
	asked, goOn := make(chan none), make(chan none)
	m := modeltest.Func(func(_ context.Context, req *model.Request) (*model.Message, error) {
		if n, _ := returns(req); n == 0 {
			return model.Response(model.ToolCall("a", "pay", `{"to":"Ada"}`)), nil
		}
		asked <- none{}
		<-goOn
		return model.Response(model.Text("All done.")), nil
	})
	store, paid := durable{new(session.Memory)}, make(chan string, 4)
	on := func(holder string) *uiServer {
		h, err := webbridge.New(webbridge.Config[uiNone, string]{
			Host: host.Config[uiNone, string]{
				Agent: agent.Must(agent.New(agent.Config[uiNone, string]{Model: m, Tools: []*toolset.Tool[uiNone]{uiPay(paid)}})),
				Store: store, Holder: holder,
			},
			Options: webbridge.Options{Token: uiToken, Protocols: []webbridge.Protocol{
				webbridge.UIStream(webbridge.UIStreamOptions{}), webbridge.AGUI(webbridge.AGUIOptions{}),
			}},
		})
		require.NoError(t, err)
		return uiListen(t, h)
	}
	here, there := on("here"), on("there")
	first, second, third := here.chat("one"), there.chat("one"), there.chat("one")
	first.say("pay")
	first.answer(true)
	second.answer(true)
	ended := make(chan string, 3)
	go func() { ended <- uiLines(first.send(nil)) }()
	<-asked
	body := uiObject{"id": second.id, "messages": second.messages}
	answers := []*http.Response{second.open("POST", "/api/chat", body), third.open("GET", "/api/chat/one/stream", nil)}
	agui := there.open("POST", "/api/agui", aguiObject{
		"threadId": "one", "runId": "run", "state": nil, "tools": nil, "context": nil, "forwardedProps": nil,
		"messages": []aguiObject{{"id": second.messages[0]["id"], "role": "user", "content": "pay"}},
	})
	close(goOn)
	data, err := io.ReadAll(agui.Body)
	require.NoError(t, err)
	require.NoError(t, agui.Body.Close())
	require.Contains(t, string(data), "All done.")
	for _, res := range answers {
		require.Equal(t, 200, res.StatusCode)
		require.Contains(t, uiLines(second.read(res)), "All done.")
	}
	require.Contains(t, <-ended, "All done.")
	require.Len(t, paid, 1)
}
