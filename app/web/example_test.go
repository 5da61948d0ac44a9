// SPDX-License-Identifier: Apache-2.0

package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/spf13/cobra"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/web"
	"github.com/ponte-go/ponte/webbridge"
)

// A program has the command "web": it serves a page, and APIs.
func ExampleNew() {
	app.Main(app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{})),
		Surfaces: []app.Surface{web.New(web.Options{
			Bridge: func() webbridge.Options { return webbridge.Options{Title: "Orders"} },
		})},
	})
}

// A program with a server of its own serves the page there, too.
func ExampleHandler() {
	serve := func(e *app.Env) *cobra.Command {
		return &cobra.Command{Use: "serve", RunE: func(c *cobra.Command, _ []string) error {
			h, err := e.Open(c.Context())
			if err != nil {
				return err
			}
			handler, err := web.Handler(e, h, web.Options{}, webbridge.Options{Token: "a-secret-of-many-words", Dirs: []string{"/orders"}})
			if err != nil {
				return err
			}
			defer handler.Shutdown(c.Context())
			mux := http.NewServeMux()
			mux.Handle("/", handler)
			for _, token := range []string{"a-secret-of-many-words", "a-guess"} {
				r := httptest.NewRequest("GET", "http://localhost/api/sessions", nil)
				r.Header.Set("Authorization", "Bearer "+token)
				answer := httptest.NewRecorder()
				mux.ServeHTTP(answer, r)
				fmt.Println(token, answer.Code)
			}
			return nil
		}}
	}
	says := modeltest.Script(modeltest.SayText("It was delivered on Monday."))
	app.Run(context.Background(), app.Config[any, string]{
		Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{Model: says})),
		Commands: []func(*app.Env) *cobra.Command{serve},
	}, app.Process{Args: []string{"serve", "-no-store"}})
	// Output:
	// a-secret-of-many-words 200
	// a-guess 401
}

func ExampleVariable() {
	fmt.Println(web.Variable("order-desk"))
	// Output: ORDER_DESK_TOKEN
}
