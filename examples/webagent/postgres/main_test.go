// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/examples/webagent/internal/program"
	"github.com/ponte-go/ponte/internal/pgtest"
)

// What is said to one process is shown by the next one: the sessions are in the database.
func TestSessionsAreInPostgres(t *testing.T) {
	server, err := pgtest.Start(false)
	if errors.Is(err, pgtest.ErrMissing) && !pgtest.Required() {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	dir := t.TempDir()
	path := ""
	for round := range 2 {
		ctx, cancel := context.WithCancel(t.Context())
		out, in := io.Pipe()
		done := make(chan error, 1)
		go func() {
			var err error
			args := []string{"-dir", dir, "-store", server.URL(), "-open=false", "-model", "offline"}
			if code := app.Run(ctx, program.Config(), app.Process{Args: args, Out: in}); code != 0 {
				err = fmt.Errorf("exit code %d", code)
			}
			_ = in.CloseWithError(err)
			done <- err
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		page, err := url.Parse(strings.TrimSpace(line))
		if err != nil {
			t.Fatal(err)
		}
		call := func(method, path, body string) (text string) {
			r, err := http.NewRequestWithContext(ctx, method, "http://"+page.Host+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer "+page.Query().Get("token"))
			r.Header.Set("Content-Type", "application/json")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = res.Body.Close() }()
			for lines := bufio.NewReader(res.Body); ; {
				line, err := lines.ReadString('\n')
				text += line
				if err != nil || strings.Contains(line, "Hello from the database") {
					return text
				}
			}
		}
		if round == 0 {
			_, id, _ := strings.Cut(call("POST", "/api/sessions", "{}"), `"id":"`)
			id, _, _ = strings.Cut(id, `"`)
			path = "/api/sessions/" + id
			call("POST", path+"/prompts", `{"parts":[{"text":"say Hello from the database"}]}`)
		}
		if text := call("GET", path+"/events", ""); !strings.Contains(text, "Hello from the database") {
			t.Errorf("process %d shows %s", round, text)
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
	}
}
