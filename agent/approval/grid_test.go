// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
)

var update = flag.Bool("update", false, "write the decisions in testdata")

// gridRules are rules of each kind, without their decision.
var gridRules = []approval.ConfigRule{
	{Tool: "run_command"}, {Tool: "run_*"}, {Tool: "*"}, {Tool: "other"}, {Server: "web"}, {Server: "w*"}, {Server: "web", Tool: "get"},
	{Path: "a.txt"}, {Path: "*.txt"}, {Path: "src/**"}, {Path: "**/*.go"}, {Path: "src/*"}, {Path: "/repo/src/a.go"}, {Path: "/etc/**"}, {Path: "../x"}, {Path: "~/x"}, {Path: "SRC/**"}, {Path: "[ab].txt"}, {Path: "**"},
	{Path: "/more/**"}, {Path: "C:/x/**"}, {Path: "src/a?go"}, {Path: ".git/**"},
	{Read: "**"}, {Read: "*.txt"}, {Read: "/etc/passwd"}, {Read: "src/**"},
	{Command: "git"}, {Command: "git push"}, {Command: "git push *"}, {Command: "git * --force"}, {Command: "go test ./..."}, {Command: "rm -rf *"}, {Command: "rm -r"}, {Command: "cat * | wc -l"}, {Command: "curl *"}, {Command: "make"},
	{Command: "python3 *"}, {Command: "tar -xzf *"}, {Command: "npm run *", Dir: "**"}, {Command: "make", Dir: "src"},
	{Host: "example.com"}, {Host: "*.example.com"}, {Host: "*"}, {Host: "10.0.0.1"}, {Host: "::1"}, {Sandbox: approval.SandboxInside}, {Sandbox: approval.SandboxOutside},
}

// gridCalls are calls by what they are called in the file.
func gridCalls() (names []string, calls []toolset.ApprovalRequest) {
	add := func(name string, r toolset.ApprovalRequest) { names, calls = append(names, name), append(calls, r) }
	for _, l := range []string{
		"git", "git push", "git push origin main", "git -C src push", "git push --force", "git log --force", "go test ./...", "go test ./... -run X", "rm -rf a", "rm -fr a.txt", "rm -r -f a", "rm --recursive a", "sudo rm -rf /",
		"cat a.txt | wc -l", "cat a.txt | wc", "curl http://example.com", "curl http://a.example.com/x -o a.txt", "curl http://$h/", "curl http://10.1", "curl 'http://[::1]/'", "make", "make all", "cd src && make", "FOO=1 make", "sh -c 'git push'",
		"python3 -c x", "tar -xzf a.tgz", "tar -x -z -f a.tgz", "npm run build", "$(echo git) push", "git$x push", "echo x > a.txt", "echo x >> src/a.go", "echo x > /etc/a", "cat /etc/passwd", "cat $f", "ls; git push", "git push &", "xargs git push", "find . -exec rm -rf {} +",
		"", "   ", "prog example.com", "GIT PUSH", `g\it push`, "./git push", "/usr/bin/git push",
	} {
		add("$ "+l, runs(line(l)))
	}
	in := line("make")
	in.Dir = "/repo/src"
	add("$ make (in src)", runs(in))
	in.Dir = "/elsewhere"
	add("$ make (elsewhere)", runs(in))
	for _, p := range []string{"a.txt", "/repo/a.txt", "/repo/b.txt", "/repo/c.txt", "/repo/src/a.go", "/repo/src/b/c.go", "/repo/SRC/a.go", "/etc/a", "/x", "/more/a.txt", `C:\x\a`, "C:", "C:/x/a", "/repo/.git/config", "/repo/src", "/repo"} {
		add("write "+p, writes(p))
	}
	add("write two", writes("/repo/a.txt", "/repo/src/a.go"))
	effect := func(name string, tool string, all ...model.Effect) {
		add(name, toolset.ApprovalRequest{Origin: toolset.Origin{Tool: tool}, Approval: toolset.Approval{Effects: all}})
	}
	effect("nothing is known", "other", model.Effect{Kind: model.EffectUnknown})
	effect("no effects", "other")
	effect("a host", "get", model.Effect{Kind: model.EffectHost, Host: "example.com"})
	effect("a host below", "get", model.Effect{Kind: model.EffectHost, Host: "b.example.com"})
	effect("any host", "get", model.Effect{Kind: model.EffectHost, Host: "*"})
	effect("two hosts", "get", model.Effect{Kind: model.EffectHost, Host: "example.com"}, model.Effect{Kind: model.EffectHost, Host: "other"})
	effect("an unknown host", "get", model.Effect{Kind: model.EffectHost, Host: command.Computed + ".example.com"})
	effect("a read", "read_file", model.Effect{Kind: model.EffectRead, Path: "/repo/a.txt"})
	effect("a read of a directory", "list", model.Effect{Kind: model.EffectRead, Path: "/repo/src/"})
	effect("a read elsewhere", "read_file", model.Effect{Kind: model.EffectRead, Path: "/etc/passwd"})
	effect("a write of a directory", "move", model.Effect{Kind: model.EffectWrite, Path: "/repo/src/"})
	effect("a read and a write", "copy", model.Effect{Kind: model.EffectRead, Path: "/repo/a.txt"}, model.Effect{Kind: model.EffectWrite, Path: "/repo/src/a.go"})
	effect("in a sandbox", "run_command", model.Effect{Kind: model.EffectSandbox})
	effect("in a sandbox with the network", "run_command", model.Effect{Kind: model.EffectSandbox}, model.Effect{Kind: model.EffectHost, Host: "*"})
	effect("out of a sandbox", "run_command", model.Effect{Kind: model.EffectOutside})
	for _, source := range []string{"mcp:web", "mcp:far", "web"} {
		add("of "+source, toolset.ApprovalRequest{Origin: toolset.Origin{Tool: "get"}, Approval: toolset.Approval{Source: source}})
	}
	effect("that calls a server", "get", model.Effect{Kind: model.EffectServer, Server: "web"})
	return names, calls
}

// TestRulesAndCalls has what is decided of each call by each rule alone: by one that allows, where else everybody is
// asked, and by one that denies or asks, where else everything is allowed. A call that is not named is decided as if
// there were no rule.
func TestRulesAndCalls(t *testing.T) {
	names, calls := gridCalls()
	decide := func(config string) (all []string) {
		c, err := approval.ParseConfig([]byte(config))
		require.NoError(t, err, config)
		layer, err := c.Layer("/repo", "/more")
		require.NoError(t, err)
		for i := range calls {
			r := calls[i]
			ruling, err := layer.Decide(t.Context(), &r)
			require.NoError(t, err)
			text := string(ruling.Verdict)
			if ruling.Reason != "" {
				text += ": " + ruling.Reason
			}
			all = append(all, text)
		}
		return all
	}
	var b strings.Builder
	for _, mode := range []string{"ask", "auto", "read-only"} {
		without := decide(fmt.Sprintf(`{"mode":%q}`, mode))
		fmt.Fprintf(&b, "# mode %s\n", mode)
		for i, text := range without {
			fmt.Fprintf(&b, "%s: %s\n", names[i], text)
		}
		for _, decision := range []toolset.Verdict{toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk} {
			if (decision == toolset.VerdictAllow) != (mode == "ask") || mode == "read-only" {
				continue
			}
			for _, rule := range gridRules {
				rule.Decision = decision
				text, err := json.Marshal(rule)
				require.NoError(t, err)
				c, err := approval.ParseConfig([]byte(`{"rules":[` + string(text) + `]}`))
				if err == nil {
					_, err = c.Layer("/repo")
				}
				fmt.Fprintf(&b, "## %s\n", text)
				if err != nil {
					fmt.Fprintf(&b, "\t%v\n", err)
					continue
				}
				order, by := []string{}, map[string][]string{}
				for i, text := range decide(fmt.Sprintf(`{"mode":%q,"rules":[%s]}`, mode, text)) {
					if text == without[i] {
						continue
					}
					if by[text] == nil {
						order = append(order, text)
					}
					by[text] = append(by[text], names[i])
				}
				for _, text := range order {
					fmt.Fprintf(&b, "\t%s: %s\n", text, strings.Join(by[text], " | "))
				}
			}
		}
	}
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile("testdata/grid.txt", []byte(b.String()), 0o644))
	}
	want, err := os.ReadFile("testdata/grid.txt")
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(b.String(), "\n"), "run with -update if it should be so")
}
