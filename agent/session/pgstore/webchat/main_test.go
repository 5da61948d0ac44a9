// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/session/pgstore"
	"github.com/ponte-go/ponte/internal/pgtest"
)

// TestSessionIsContinuedWithAnotherServer: a session is begun with one server, which stops, and goes on with another one.
func TestSessionIsContinuedWithAnotherServer(t *testing.T) {
	database, err := pgtest.Start(false)
	if errors.Is(err, pgtest.ErrMissing) && !pgtest.Required() {
		t.Skip(err)
	}
	require.NoError(t, err)
	defer func() { require.NoError(t, database.Close()) }()
	const token = "a token for this test"
	start := func() (url string, stop func()) {
		ctx, cancel := context.WithCancel(t.Context())
		ready, ended := make(chan string, 1), make(chan error, 1)
		go func() {
			ended <- serve(ctx, database.URL(), pgstore.Options{}, "127.0.0.1:0", token, func(page string) { ready <- page })
		}()
		select {
		case page := <-ready:
			url, _, _ = strings.Cut(page, "/?")
		case err := <-ended:
			t.Fatal(err)
		}
		return url, func() {
			cancel()
			require.NoError(t, <-ended)
		}
	}
	post := func(url, body string) []byte {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
		require.NoError(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+token)
		answer, err := http.DefaultClient.Do(request)
		require.NoError(t, err)
		defer answer.Body.Close()
		data, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Less(t, answer.StatusCode, 300, "%s", data)
		return data
	}
	first, stopFirst := start()
	second, stopSecond := start()
	var made struct{ ID string }
	require.NoError(t, json.Unmarshal(post(first+"/api/sessions", `{"title":"Rivers"}`), &made))
	store, err := pgstore.Open(t.Context(), database.URL(), pgstore.Options{})
	require.NoError(t, err)
	defer store.Close()
	says := func(text string) {
		require.Eventually(t, func() bool {
			var all strings.Builder
			for e, err := range store.Load(t.Context(), made.ID, 0) {
				require.NoError(t, err)
				all.Write(e.Data)
			}
			return strings.Contains(all.String(), "You said: "+text)
		}, time.Minute, 10*time.Millisecond)
	}
	post(first+"/api/sessions/"+made.ID+"/prompts", `{"parts":[{"text":"Akerselva"}]}`)
	says("Akerselva")
	stopFirst()
	post(second+"/api/sessions/"+made.ID+"/prompts", `{"parts":[{"text":"Lysaker"}]}`)
	says("Lysaker")
	stopSecond()
	http.DefaultClient.CloseIdleConnections()
}
