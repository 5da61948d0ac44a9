// SPDX-License-Identifier: Apache-2.0

package webbridge_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/webbridge"
)

// A program makes a session with the token as a bearer.
func Example() {
	a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: modeltest.Script(modeltest.SayText("The Akerselva."))}))
	token := webbridge.NewToken()
	h, err := webbridge.New(webbridge.Config[struct{}, string]{
		Host:    host.Config[struct{}, string]{Agent: a},
		Options: webbridge.Options{Token: token},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = h.Shutdown(context.Background()) }()
	server := httptest.NewServer(h)
	defer server.Close()

	request, err := http.NewRequest("POST", server.URL+"/api/sessions", bytes.NewReader([]byte(`{"title":"Rivers"}`)))
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := server.Client().Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = answer.Body.Close() }()
	var session struct{ Title string }
	err = json.NewDecoder(answer.Body).Decode(&session)
	fmt.Println(answer.Status, session.Title, err)
	// Output: 201 Created Rivers <nil>
}
