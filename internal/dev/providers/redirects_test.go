// SPDX-License-Identifier: Apache-2.0

package providers_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/genkitmodel/openaidialect"
)

// at are models whose client is ours, or the program's: of every provider, and of Genkit.
func at(t *testing.T, base string, client *http.Client) map[string]model.Model {
	t.Helper()
	const key = "sk-0123456789"
	models := openAll(t, model.OpenOptions{
		APIKey: key, BaseURL: base, HTTPClient: client, Retry: model.RetryPolicy{Attempts: 1},
		Settings: &model.Settings{ExtraHeaders: map[string]string{"X-Extra": key}},
	})
	var err error
	models["genkit"], err = openaidialect.New(openaidialect.Config{Name: "m", APIKey: key, BaseURL: base, HTTPClient: client})
	require.NoError(t, err)
	return models
}

func TestKeysGoToTheOriginOfTheBaseURLOnly(t *testing.T) {
	var stolen atomic.Int64
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	t.Cleanup(thief.Close)
	for _, client := range []*http.Client{nil, {}, {Transport: http.DefaultTransport}} {
		for _, status := range []int{301, 302, 303, 307, 308} {
			home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, thief.URL+r.URL.Path, status) // another port of the same host
			}))
			for name, m := range at(t, home.URL, client) {
				for _, sink := range []model.Sink{nil, func(model.Delta) error { return nil }} {
					_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}}, sink)
					require.Error(t, err, "%s %d", name, status)
				}
				if lister, ok := m.(interface {
					Models(context.Context) ([]string, error)
				}); ok {
					_, err := lister.Models(t.Context())
					require.Error(t, err, "%s %d", name, status)
				}
			}
			home.Close()
		}
	}
	require.Zero(t, stolen.Load())
}

func TestRedirectsWithinAnOriginAreFollowed(t *testing.T) {
	var arrived atomic.Int64
	home := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/moved/") {
			http.Redirect(w, r, "/moved"+r.URL.Path, http.StatusTemporaryRedirect)
			return
		}
		if body, _ := io.ReadAll(r.Body); len(body) > 0 && strings.Contains(fmt.Sprint(r.Header), "sk-0123456789") {
			arrived.Add(1)
		}
		http.Error(w, "{}", http.StatusTeapot)
	}))
	t.Cleanup(home.Close)
	models := at(t, home.URL, nil)
	for _, m := range models {
		_, err := m.Generate(t.Context(), &model.Request{Messages: []*model.Message{model.UserText("hi")}}, nil)
		require.Error(t, err)
	}
	require.EqualValues(t, len(models), arrived.Load())
}
