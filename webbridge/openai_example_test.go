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

func ExampleOpenAI() {
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("The Akerselva."))}))
	token := webbridge.NewToken()
	h, err := webbridge.New(webbridge.Config[struct{}, string]{
		Host:    host.Config[struct{}, string]{Agent: a},
		Options: webbridge.Options{Token: token, Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{Name: "guide"})}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(h)
	defer server.Close()
	defer func() { _ = h.Shutdown(context.Background()) }()

	request, err := http.NewRequest("POST", server.URL+"/v1/chat/completions", strings.NewReader(
		`{"model":"guide","messages":[{"role":"user","content":"Which river flows through Oslo?"}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	fmt.Println(strings.Contains(string(text), `"content":"The Akerselva."`), err)
	// Output: true <nil>
}
