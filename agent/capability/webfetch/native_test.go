// SPDX-License-Identifier: Apache-2.0

package webfetch_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/capability/webfetch"
	"github.com/ponte-go/ponte/agent/model"
)

func TestNativeFetchIsAnOption(t *testing.T) {
	can, restricted := model.Info{NativeFetch: true}, model.Info{NativeFetch: true, NativeDomains: true}
	for name, test := range map[string]struct {
		info model.Info
		o    webfetch.Options
		want *model.NativeTool
	}{
		"off":                {restricted, webfetch.Options{}, nil},
		"on":                 {can, webfetch.Options{Native: true}, &model.NativeTool{Kind: model.NativeWebFetch}},
		"the model's not":    {model.Info{}, webfetch.Options{Native: true}, nil},
		"hosts":              {restricted, webfetch.Options{Native: true, Only: []string{".A.test"}}, &model.NativeTool{Kind: model.NativeWebFetch, Allowed: []string{"a.test"}}},
		"blocked hosts":      {restricted, webfetch.Options{Native: true, Deny: []string{"a.test"}}, &model.NativeTool{Kind: model.NativeWebFetch, Blocked: []string{"a.test"}}},
		"both":               {restricted, webfetch.Options{Native: true, Only: []string{"a.test"}, Deny: []string{"b.a.test"}}, nil},
		"hosts of no kind":   {can, webfetch.Options{Native: true, Only: []string{"a.test"}}, nil},
		"a block of no kind": {can, webfetch.Options{Native: true, Deny: []string{"a.test"}}, nil},
	} {
		var req *model.Request
		m := model.Func(test.info, func(_ context.Context, r *model.Request, _ model.Sink) (*model.Message, error) {
			req = r
			return model.Response(model.Text("done")), nil
		})
		a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: m, Capabilities: []agent.Capability[struct{}]{webfetch.New[struct{}](test.o)}}))
		_, err := a.Run(t.Context(), struct{}{}, "go")
		require.NoError(t, err, name)
		if test.want == nil {
			require.Len(t, req.Tools, 1, name)
			require.True(t, req.Settings == nil || req.Settings.NativeTools == nil, name)
			continue
		}
		require.Empty(t, req.Tools, name)
		require.Equal(t, []model.NativeTool{*test.want}, req.Settings.NativeTools, name)
	}
}

// TestNativeFetchKeepsOtherSettings checks that the settings of a run stay, and that a native fetch of its own is not added to.
func TestNativeFetchKeepsOtherSettings(t *testing.T) {
	own := []model.NativeTool{{Kind: model.NativeWebFetch, MaxUses: 2}}
	search := []model.NativeTool{{Kind: model.NativeWebSearch}}
	for name, test := range map[string]struct{ given, want []model.NativeTool }{
		"its own": {own, own}, "another": {search, append(search, model.NativeTool{Kind: model.NativeWebFetch})}, "none": {nil, []model.NativeTool{{Kind: model.NativeWebFetch}}},
	} {
		var req *model.Request
		m := model.Func(model.Info{NativeFetch: true}, func(_ context.Context, r *model.Request, _ model.Sink) (*model.Message, error) {
			req = r
			return model.Response(model.Text("done")), nil
		})
		a := agent.Must(agent.New(agent.Config[struct{}, string]{Model: m, Capabilities: []agent.Capability[struct{}]{webfetch.New[struct{}](webfetch.Options{Native: true})}}))
		_, err := a.Run(t.Context(), struct{}{}, "go", agent.WithSettings(model.Settings{MaxTokens: 9, NativeTools: test.given}))
		require.NoError(t, err, name)
		require.Equal(t, 9, req.Settings.MaxTokens, name)
		require.Equal(t, test.want, req.Settings.NativeTools, name)
	}
}
