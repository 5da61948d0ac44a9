// SPDX-License-Identifier: Apache-2.0

package agentcall_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/agentcall"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// effectsOf returns effects as text: "?" if there are unknown ones, "r" and "w" with a path, "h" with a host.
func effectsOf(all []model.Effect) string {
	var b []string
	for _, e := range all {
		switch e.Kind {
		case model.EffectUnknown:
			b = append(b, "?")
		case model.EffectRead:
			b = append(b, "r "+e.Path)
		case model.EffectWrite:
			b = append(b, "w "+e.Path)
		case model.EffectHost:
			b = append(b, "h "+e.Host)
		default:
			b = append(b, string(e.Kind))
		}
	}
	return strings.Join(b, ", ")
}

// TestEffectsOfForeignCalls has what agents say of calls. What is not understood is unknown, whatever they claim.
func TestEffectsOfForeignCalls(t *testing.T) {
	for _, c := range []struct {
		call agentcall.Call
		in   string
		want string
	}{
		// what is looked at
		{agentcall.Call{Kind: toolset.KindRead}, `{"file_path":"a.go"}`, "r /w/a.go"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"/x/../a.go"}`, "r /a.go"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"a/"}`, "r /w/a/"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"."}`, "r /w"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"/"}`, "r /"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"a\\b"}`, "r /w/a/b"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"C:\\a"}`, "r C:/a"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"C"}`, "r /w/C"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"C:"}`, "r C:"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":""}`, ""},
		{agentcall.Call{Kind: toolset.KindRead}, `{"paths":["b","a","b"],"Files":["c"],"absolute-path":"/d"}`, "r /d, r /w/a, r /w/b, r /w/c"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"uri":"file:///x/a"}`, "r /x/a"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":7}`, ""},
		{agentcall.Call{Kind: toolset.KindRead}, `{"paths":["a",7]}`, ""},
		{agentcall.Call{Kind: toolset.KindRead}, `{"dir":"d","directory":"e/","root":"/"}`, "r /, r /w/d/, r /w/e/"},
		{agentcall.Call{Kind: toolset.KindThink}, `{"thought":"a/b"}`, ""},
		{agentcall.Call{Kind: toolset.KindSearch}, `{"path":"a","pattern":"/x","dir":"d"}`, "r /w/d/, r /w/a/"},
		{agentcall.Call{Kind: toolset.KindSearch}, `{"query":"x"}`, ""},
		{agentcall.Call{Kind: toolset.KindFetch}, `{"url":"https://A.example:8/x"}`, "h a.example"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"https://a.example/x","uri":"http://b.example"}`, "h a.example, h b.example"},
		{agentcall.Call{Kind: toolset.KindRead}, `{"url":"no address"}`, ""},
		{agentcall.Call{Kind: toolset.KindRead}, `{"query":"https://a.example"}`, ""},
		{agentcall.Call{Kind: toolset.KindRead}, `{"dir":"https://a.example"}`, "r /w/https:/a.example/"},
		// what is not understood
		{agentcall.Call{Kind: toolset.KindRead}, `{"path":"a","then":"delete"}`, "?, r /w/a"},
		{agentcall.Call{Kind: toolset.KindRead}, `[]`, "?"},
		{agentcall.Call{Kind: toolset.KindRead, Opaque: true}, `{"path":"a"}`, "?, r /w/a"},
		{agentcall.Call{Kind: toolset.KindRead}, ``, ""},
		{agentcall.Call{Kind: toolset.KindRead, Places: []string{"b", "a"}}, ``, "r /w/b, r /w/a"},
		{agentcall.Call{Kind: toolset.KindRead, Places: []string{"b", "a"}}, `{"path":"a"}`, "r /w/a, r /w/b"},
		// commands
		{agentcall.Call{Kind: toolset.KindExecute}, `{"command":"rm -r x"}`, ""},
		{agentcall.Call{Kind: toolset.KindExecute}, `{"command":"rm -r x","path":"y"}`, "r /w/y"},
		{agentcall.Call{Kind: toolset.KindExecute}, `{"command":7}`, "?"},
		{agentcall.Call{Kind: toolset.KindExecute, Opaque: true}, `{"command":"ls"}`, "?"},
		// changes
		{agentcall.Call{Kind: toolset.KindEdit}, `{"path":"a"}`, "w /w/a, ?"},
		{agentcall.Call{Kind: toolset.KindEdit, Shown: true}, `{"path":"a","content":"x"}`, "w /w/a"},
		{agentcall.Call{Kind: toolset.KindEdit}, `{"path":"a","content":"x"}`, "?, w /w/a, ?"},
		{agentcall.Call{Kind: toolset.KindEdit}, `{}`, ""},
		{agentcall.Call{Kind: toolset.KindDelete, Shown: true}, `{"dir":"d"}`, "w /w/d/"},
		{agentcall.Call{Kind: toolset.KindOther}, `{"command":"ls","path":"a"}`, "w /w/a"},
		{agentcall.Call{Kind: toolset.KindEdit}, `{"url":"https://a.example"}`, "h a.example"},
	} {
		c.call.Input = json.RawMessage(c.in)
		require.Equal(t, c.want, effectsOf(c.call.Effects("/w")), "%s %s", c.call.Kind, c.in)
	}
	places := []string{"b", "a"}
	call := agentcall.Call{Kind: toolset.KindRead, Places: places, Input: json.RawMessage(`{"path":"a"}`)}
	require.Equal(t, "r a, r b", effectsOf(call.Effects("")), "without a directory, paths stay relative")
	require.Equal(t, []string{"b", "a"}, places, "what was given stays as it is")
}

// TestNamesOfToolsMeanTheirEffects has the tools for files, and an effect that each may have, and one that it may not.
func TestNamesOfToolsMeanTheirEffects(t *testing.T) {
	read, write := model.Effect{Kind: model.EffectRead}, model.Effect{Kind: model.EffectWrite}
	host, unknown := model.Effect{Kind: model.EffectHost}, model.Effect{Kind: model.EffectUnknown}
	for tool, writes := range map[string]bool{
		workspace.ToolReadFile: false, workspace.ToolListFiles: false, workspace.ToolSearchFiles: false, workspace.ToolWriteFile: true, workspace.ToolEditFile: true,
	} {
		require.True(t, agentcall.Means(tool, nil))
		require.True(t, agentcall.Means(tool, []model.Effect{read, read}))
		require.Equal(t, writes, agentcall.Means(tool, []model.Effect{read, write}), tool)
		require.False(t, agentcall.Means(tool, []model.Effect{read, host}), tool)
		require.False(t, agentcall.Means(tool, []model.Effect{unknown}), tool)
	}
	require.True(t, agentcall.Means("pay", []model.Effect{unknown, host}))
}

// TestArgumentsThatAreKnown has each name of an argument in the forms that agents write.
func TestArgumentsThatAreKnown(t *testing.T) {
	for _, names := range []struct {
		names   string
		changes bool
	}{
		{`path paths file files file_path filepath filename absolute_path abs_path relative_path uri url dir directory cwd workdir root pattern query regex regexp
			glob globs include exclude literal text offset limit line lines line_count start_line end_line start end head tail context before after depth
			max_depth ignore_case case_sensitive case_insensitive multiline output_mode type recursive include_ignored max_results title description
			thought topic prompt`, false},
		{`content contents new_text old_text new_string old_string new_str old_str edits changes replace_all insert_line insert_text create_if_missing file_uri
			auto_approved patch diff unified_diff`, true},
	} {
		for _, name := range strings.Fields(names.names) {
			for _, form := range []string{name, strings.ReplaceAll(name, "_", "-"), strings.ToUpper(strings.ReplaceAll(name, "_", ""))} {
				in := json.RawMessage(`{"` + form + `":1}`)
				require.Equal(t, !names.changes, agentcall.Known(in, false), form)
				require.True(t, agentcall.Known(in, true), form)
			}
		}
	}
}
