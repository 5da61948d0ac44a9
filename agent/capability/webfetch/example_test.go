// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset"
)

func Example() {
	// Stands in for the web.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>Tea</title><nav>Home</nav><main><h1>Tea</h1><p>Drink <b>tea</b>.</p></main>")
	}))
	defer server.Close()

	a := agent.Must(agent.New(agent.Config[struct{}, string]{
		Model: modeltest.Script(modeltest.Say(model.ToolCall("1", webfetch.ToolFetch, `{"url":"`+server.URL+`"}`)), modeltest.SayText("Drink tea.")),
		Capabilities: []agent.Capability[struct{}]{webfetch.New[struct{}](webfetch.Options{
			Allow:        []string{"go.dev", ".golang.org"},                    // no approval needed
			AllowPrivate: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, // for the server above
		})},
	}))
	person := toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		fmt.Println(strings.ReplaceAll(r.Approval.Title, server.URL, "URL"))
		return toolset.Allow(), nil
	}}
	res, err := a.Run(context.Background(), struct{}{}, "What should I drink?", agent.WithAsker(person))
	if err != nil {
		fmt.Println(err)
		return
	}
	page := res.Messages[2].Parts[0].Text
	fmt.Println(page[strings.Index(page, "# Tea"):strings.LastIndex(page, "\n---")])
	// Output:
	// Fetch 127.0.0.1
	// # Tea
	//
	// Drink **tea**.
}
