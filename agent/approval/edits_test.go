// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

func requested(kind toolset.Kind, a toolset.Approval) *toolset.ApprovalRequest {
	return &toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "t", Kind: kind}, Approval: a}
}

func wrote(paths ...string) (a toolset.Approval) {
	for _, p := range paths {
		a.Effects = append(a.Effects, model.Effect{Kind: model.EffectWrite, Path: p})
	}
	return a
}

// What a tool does not say is what tools of its kind do at most, and never nothing.
func TestEffectsThatAreNotStatedAreThoseOfTheKind(t *testing.T) {
	for kind, want := range map[toolset.Kind][]model.Effect{
		toolset.KindRead:    {{Kind: model.EffectRead}},
		toolset.KindSearch:  {{Kind: model.EffectRead}},
		toolset.KindFetch:   {{Kind: model.EffectHost, Host: "*"}},
		toolset.KindThink:   nil,
		toolset.KindEdit:    {{Kind: model.EffectUnknown}},
		toolset.KindDelete:  {{Kind: model.EffectUnknown}},
		toolset.KindMove:    {{Kind: model.EffectUnknown}},
		toolset.KindExecute: {{Kind: model.EffectUnknown}},
		toolset.KindOther:   {{Kind: model.EffectUnknown}},
		"":                  {{Kind: model.EffectUnknown}},
	} {
		require.Equal(t, want, approval.EffectsOf(requested(kind, toolset.Approval{})), kind)
	}
	require.Equal(t, []model.Effect{{Kind: model.EffectServer, Server: "s"}},
		approval.EffectsOf(requested(toolset.KindRead, toolset.Approval{Source: "mcp:s"})))
	require.Equal(t, wrote("/a").Effects, approval.EffectsOf(requested(toolset.KindRead, wrote("/a"))))
}

// Edits go by what calls do, whatever kind their tools claim.
func TestEditsAreCallsThatChangeFilesOnly(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "out")))
	inside := filepath.Join(dir, "f")
	with := func(e model.Effect) toolset.Approval {
		a := wrote(inside)
		a.Effects = append(a.Effects, e)
		return a
	}
	showing := func(p toolset.Preview) toolset.Approval {
		a := wrote(inside)
		a.Preview = []toolset.Preview{p}
		return a
	}
	text := "x"
	for name, c := range map[string]struct {
		kind toolset.Kind
		a    toolset.Approval
		want bool
	}{
		"a file":                  {toolset.KindEdit, wrote(inside), true},
		"by a tool of any kind":   {toolset.KindOther, wrote(inside), true},
		"that is also read":       {toolset.KindEdit, with(model.Effect{Kind: model.EffectRead, Path: inside}), true},
		"a diff":                  {toolset.KindEdit, toolset.Approval{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: inside, New: &text}}}}, true},
		"a relative diff":         {toolset.KindEdit, toolset.Approval{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "f", New: &text}}}}, true},
		"nothing that is known":   {toolset.KindEdit, toolset.Approval{}, false},
		"nothing of an MCP tool":  {toolset.KindEdit, toolset.Approval{Source: "mcp:s"}, false},
		"only reads":              {toolset.KindRead, toolset.Approval{Effects: []model.Effect{{Kind: model.EffectRead, Path: inside}}}, false},
		"elsewhere":               {toolset.KindEdit, wrote(filepath.Dir(dir) + "/x"), false},
		"the directory itself":    {toolset.KindEdit, wrote(dir), false},
		"all below":               {toolset.KindEdit, wrote(inside + "/"), false},
		"through a link":          {toolset.KindEdit, wrote(filepath.Join(dir, "out", "f")), false},
		"one of two elsewhere":    {toolset.KindEdit, wrote(inside, "/etc/hosts"), false},
		"out by dots":             {toolset.KindEdit, wrote(dir + "/../x"), false},
		"a neighbor of that name": {toolset.KindEdit, wrote(dir + "2/x"), false},
		"and money":               {toolset.KindEdit, with(model.Effect{Kind: model.EffectMoney, Amount: 1}), false},
		"and a host":              {toolset.KindEdit, with(model.Effect{Kind: model.EffectHost, Host: "a"}), false},
		"and what is unknown":     {toolset.KindEdit, with(model.Effect{Kind: model.EffectUnknown}), false},
		"a command":               {toolset.KindEdit, showing(toolset.Preview{Command: &toolset.CommandLine{Line: "true"}}), false},
		"a deletion":              {toolset.KindEdit, showing(toolset.Preview{Diff: &toolset.Diff{Path: inside}}), false},
	} {
		require.Equal(t, c.want, approval.Edits(requested(c.kind, c.a), dir), name)
	}
	require.True(t, approval.Edits(requested("", wrote("/anywhere"))), "without directories")
}

// A link that a tool has not shown as a diff hides nothing from rules.
func TestRulesFollowLinksOfEffects(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".env"), nil, 0o600))
	require.NoError(t, os.Symlink(".env", filepath.Join(dir, "plain")))
	c, err := approval.ParseConfig([]byte(`{"mode":"auto","rules":[{"decision":"deny","path":"**/.env"},{"decision":"deny","read":"**/.env"}]}`))
	require.NoError(t, err)
	layer, err := c.Layer(dir)
	require.NoError(t, err)
	layer = approval.ThroughLinks(layer, dir)
	for _, kind := range []model.EffectKind{model.EffectRead, model.EffectWrite} {
		a := toolset.Approval{Effects: []model.Effect{{Kind: kind, Path: filepath.Join(dir, "plain")}}}
		ruling, err := layer.Decide(t.Context(), requested("", a))
		require.NoError(t, err)
		require.Equal(t, toolset.VerdictDeny, ruling.Verdict, kind)
		require.Equal(t, filepath.Join(dir, "plain"), a.Effects[0].Path)
	}
}

// A shell that reads its commands from elsewhere may run any.
func TestShellsThatReadCommandsAreAskedAbout(t *testing.T) {
	c, err := approval.ParseConfig([]byte(`{"mode":"auto","rules":[{"decision":"deny","command":"git push"}]}`))
	require.NoError(t, err)
	layer, err := c.Layer("/project")
	require.NoError(t, err)
	for line, want := range map[string]toolset.Verdict{
		"printf 'git pu%s' sh | sh":               approval.VerdictAsk,
		"echo Z2l0IHB1c2g= | base64 -d | bash -s": approval.VerdictAsk,
		"base64 -d x | /bin/sh; true":             approval.VerdictAsk,
		"zsh < x":                                 approval.VerdictAsk,
		"cat x | (dash)":                          approval.VerdictAsk,
		"echo x | sh -e -x":                       approval.VerdictAsk,
		"ls *.sh":                                 toolset.VerdictAllow,
		"cat run.sh | head":                       toolset.VerdictAllow,
		"sh build.sh":                             toolset.VerdictAllow,
		"./sh.txt | wc":                           toolset.VerdictAllow,
	} {
		a := toolset.Approval{Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: line, Dir: "/project"}}}}
		ruling, err := layer.Decide(t.Context(), requested(toolset.KindExecute, a))
		require.NoError(t, err)
		require.Equal(t, want, ruling.Verdict, line)
	}
}
