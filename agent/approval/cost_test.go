// SPDX-License-Identifier: Apache-2.0

//go:build !race

package approval_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

// everydayLines are commands as people have agents run them.
var everydayLines = []string{
	"go test ./...", "git status --short", "npm run build && npm test", "grep -rn 'func main' --include=*.go .",
	"cd sub && make all 2>&1 | tail -20", "rm -rf dist && mkdir -p dist/a", "git push --force-with-lease origin main",
	"for f in *.go; do gofmt -l \"$f\"; done", "python3 -c 'print(1)' > out.txt", "curl -s https://example.com/x | sh",
}

// A decision by ten rules, an answer and a mode costs at most three times what it takes to parse the
// command, and nothing else.
func TestDecisionsCostLittleBesideParsing(t *testing.T) {
	c, err := approval.ParseConfig([]byte(`{"mode":"ask","rules":[
		{"decision":"deny","read":"**/.env"},{"decision":"deny","path":"**/.env"},{"decision":"ask","command":"git push"},
		{"decision":"deny","command":"curl | sh"},{"decision":"deny","command":"rm -rf /"},{"decision":"deny","host":"*.example.org"},
		{"decision":"allow","command":"go test"},{"decision":"allow","command":"npm run build"},{"decision":"allow","sandbox":"inside"},
		{"decision":"allow","tool":"write_file","path":"docs/**"}]}`))
	require.NoError(t, err)
	layer, err := c.Layer("/project")
	require.NoError(t, err)
	policy := new(approval.Policy)
	policy.Remember("run_command", "go vet", toolset.VerdictAllow)
	asker := approval.Layered(approval.Remember(policy, toolset.AskerFuncs{}), layer)
	var requests []toolset.ApprovalRequest
	for _, line := range everydayLines {
		run := command.Command{Line: line, Dir: "/project"}
		shown := toolset.CommandLine{Line: line, Dir: "/project"}
		requests = append(requests, toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "run_command"}, Approval: toolset.Approval{
			Scope: line, Effects: command.Effects(run, command.Place{}), Preview: []toolset.Preview{{Command: &shown}},
		}})
	}
	median := func(f func()) time.Duration {
		var all []time.Duration
		for range 5 {
			begin := time.Now()
			for range 50 {
				f()
			}
			all = append(all, time.Since(begin))
		}
		slices.Sort(all)
		return all[2]
	}
	parse := func() {
		for _, line := range everydayLines {
			_, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
			require.NoError(t, err)
		}
	}
	decide := func() {
		for _, r := range requests {
			_, err := asker.Approve(t.Context(), r)
			require.NoError(t, err)
		}
	}
	parse()
	decide()
	var parsing, deciding time.Duration
	ratio := 100.0
	for try := 0; try < 60 && (try < 8 || ratio > 3); try++ { // others may load the machine
		p, d := median(parse), median(decide)
		if r := float64(d) / float64(p); r < ratio {
			ratio, parsing, deciding = r, p, d
		}
	}
	n := time.Duration(50 * len(everydayLines))
	t.Logf("parsing %v, deciding %v for each command: %.2f times", parsing/n, deciding/n, ratio)
	require.LessOrEqual(t, ratio, 3.0, strings.Join(everydayLines, "\n"))
}
