// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/offline"
)

// Where there are tools for code, requests about code use them.
func TestRequestsAboutCode(t *testing.T) {
	request := func(prompt string, tools ...string) *model.Message {
		req := &model.Request{Messages: []*model.Message{model.UserText(prompt)}}
		for _, name := range tools {
			req.Tools = append(req.Tools, model.ToolDef{Name: name})
		}
		m, err := offline.New(offline.Config{}).Generate(t.Context(), req, nil)
		require.NoError(t, err)
		return m
	}
	all := []string{"search_files", "find_definition", "find_references", "rename_symbol", "get_diagnostics"}
	for prompt, want := range map[string]string{
		"where is Celsius defined?":            `find_definition {"symbol":"Celsius"}`,
		"where is Celsius declared in a.go?":   `find_definition {"symbol":"Celsius","path":"a.go"}`,
		"where is Celsius?":                    `search_files {"pattern":"Celsius","literal":true,"path":"."}`,
		"who calls Celsius?":                   `find_references {"symbol":"Celsius","kind":"callers"}`,
		"rename Celsius to Degrees":            `rename_symbol {"symbol":"Celsius","new_name":"Degrees"}`,
		"please rename T.Run to Go everywhere": `rename_symbol {"symbol":"T.Run","new_name":"Go"}`,
		"what is broken?":                      `get_diagnostics {}`,
	} {
		calls := callsOf(request(prompt, all...))
		require.Len(t, calls, 1, prompt)
		require.Equal(t, want, calls[0].Tool+" "+string(calls[0].Args), prompt)
	}
	calls := callsOf(request("where is Celsius defined?", "search_files"))
	require.Equal(t, "search_files", calls[0].Tool)
	for _, prompt := range []string{"rename a.txt to b.txt", "rename Celsius", "who calls the shots here?"} {
		require.Empty(t, callsOf(request(prompt, all...)), prompt)
	}
	require.Contains(t, request("rename Celsius to Degrees", "search_files").Text(), "in which file?")
	require.Contains(t, request("what is broken?", "search_files").Text(), "I was not given the tool")
}

func callsOf(m *model.Message) (calls []model.Part) {
	for _, p := range m.Parts {
		if p.Kind == model.PartToolCall {
			calls = append(calls, p)
		}
	}
	return calls
}
