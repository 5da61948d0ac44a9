// SPDX-License-Identifier: Apache-2.0

package everytype_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/capability/websearch"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/model/modelwrap"
	"github.com/ponte-go/ponte/internal/secrettest"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

type none = struct{}

// TestMadeValuesShowNoSecrets is about what functions return whose types are not exported.
func TestMadeValuesShowNoSecrets(t *testing.T) {
	secret, header := secrettest.Secret, http.Header{"X-Key": {secrettest.Secret}}
	values := map[string]any{}
	for name, transport := range map[string]mcptoolset.Transport{
		"command": mcptoolset.Command{Path: "x", Env: []string{"A=" + secret}},
		"http":    mcptoolset.HTTP{URL: "https://h.test/?k=" + secret, Headers: map[string]string{"Authorization": "Bearer " + secret}},
		"sse":     mcptoolset.SSE{URL: "https://h.test/?k=" + secret, Headers: map[string]string{"Authorization": "Bearer " + secret}},
	} {
		server, err := mcptoolset.New(mcptoolset.Config{Name: name, Transport: transport})
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, server.Close()) })
		values[name+" server"] = server
		values[name+" tools"] = mcptoolset.Tools(server, mcptoolset.Options[none]{})
		values[name+" servers"] = mcptoolset.All([]*mcptoolset.Server{server}, mcptoolset.Options[none]{})
		values[name+" combined"] = toolset.Combine(mcptoolset.Tools(server, mcptoolset.Options[none]{}))
		values[name+" field"] = struct{ server *mcptoolset.Server }{server}
		values[name+" map"] = map[string]*mcptoolset.Server{"a": server}
	}
	settings := &model.Settings{ExtraHeaders: map[string]string{"X-Key": secret}}
	scripted := modeltest.Auto()
	values["media"] = modelwrap.FetchMedia(scripted, modelwrap.FetchPolicy{Header: header})
	values["fetch"] = webfetch.New[none](webfetch.Options{Header: header})
	values["search"] = websearch.New[none](websearch.Options{Searcher: websearch.Brave(secret)})
	a, err := agent.New(agent.Config[none, string]{Model: scripted, Settings: settings, Toolsets: []toolset.Toolset[none]{mcptoolset.All([]*mcptoolset.Server{values["http server"].(*mcptoolset.Server)}, mcptoolset.Options[none]{})}})
	require.NoError(t, err)
	values["agent"] = a
	values["request"] = &model.Request{Settings: settings}
	for name, v := range values {
		require.Empty(t, secrettest.Ways(v), name)
	}
}

// holder is a struct of a program. fmt calls no methods of its field, so nothing but a method of its own can hide what is there.
type holder struct{ server mcptoolset.HTTP }

type formatted struct{ server mcptoolset.HTTP }

func (f formatted) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, f.server.String()) }

func TestUnexportedFieldsNeedAFormatMethod(t *testing.T) {
	server := mcptoolset.HTTP{URL: "https://h.test/", Headers: map[string]string{"Authorization": "Bearer " + secrettest.Secret}}
	require.NotEmpty(t, secrettest.Ways(holder{server}), "the documentation need not warn any more")
	require.Empty(t, secrettest.Ways(formatted{server}))
}
