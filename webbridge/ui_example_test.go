// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

func ExampleUIStream() {
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("Akerselva."))}))
	h, err := webbridge.New(webbridge.Config[struct{}, string]{
		Host: host.Config[struct{}, string]{Agent: a},
		Options: webbridge.Options{
			User:      func(*http.Request) (string, error) { return "ada", nil }, // what your middleware knows
			Protocols: []webbridge.Protocol{webbridge.UIStream(webbridge.UIStreamOptions{})},
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Shutdown(context.Background()) }()
	server := httptest.NewServer(h)
	defer server.Close()
	defer http.DefaultClient.CloseIdleConnections()

	const request = `{"id":"my chat","messages":[{"id":"m1","role":"user","parts":[{"type":"text","text":"Which river is it?"}]}]}`
	answer, err := http.Post(server.URL+"/api/chat", "application/json", strings.NewReader(request))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	fmt.Println(answer.Header.Get("Content-Type"), strings.Contains(string(text), `"delta":"Akerselva."`), err)
	// Output: text/event-stream true <nil>
}
