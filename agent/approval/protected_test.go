// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
)

// protectedFiles are files that other programs execute or obey, relative to a project or a home.
const protectedFiles = `
.git .git/config .git/hooks/pre-commit .git/hooks .git/info/attributes .git/info .git/modules/x/config .git/worktrees/x/config.worktree sub/.git/config .gitmodules .gitconfig .config/git/config .githooks/pre-push
.hg/hgrc .jj/repo/config.toml .husky/pre-commit .husky/_/husky.sh .pre-commit-config.yaml lefthook.yml .lefthook/pre-commit
.vscode/tasks.json .vscode/settings.json .vscode/launch.json .vscode .idea/workspace.xml .idea .zed/tasks.json .zed/settings.json x.code-workspace .fleet/run.json .exrc .vimrc .nvim.lua .dir-locals.el .devcontainer/devcontainer.json .devcontainer.json
.envrc .direnv/x mise.toml .mise.toml
.github/workflows/ci.yml .github/workflows .github .github/actions/x/action.yml .gitlab-ci.yml .circleci/config.yml .travis.yml Jenkinsfile azure-pipelines.yml .gitea/workflows/x.yml .forgejo/workflows/x.yml .buildkite/pipeline.yml bitbucket-pipelines.yml
.mcp.json .claude/settings.json .claude/settings.local.json .claude/commands/x.md .claude .claude.json .agents/skills/x/SKILL.md .agents/ideagent.json .agents .codex/config.toml .gemini/settings.json .cursor/mcp.json .cursor/rules/x.mdc .windsurf/x .opencode/x opencode.json .kiro/x .aider.conf.yml
.bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .kshrc .cshrc .tcshrc .config/fish/config.fish .inputrc .xprofile .xinitrc .pam_environment .config/autostart/x.desktop .config/systemd/user/x.service Library/LaunchAgents/x.plist .tmux.conf
.ssh/authorized_keys .ssh/config .ssh/id_ed25519 .gnupg/gpg.conf .aws/credentials .aws/config .kube/config .docker/config.json .config/gcloud/x .config/gh/hosts.yml .netrc .git-credentials .pgpass .npmrc .yarnrc.yml .pypirc .cargo/config.toml .gdbinit
.config/ideagent/config.json .config/ideagent/keys.json Library/Application\x20Support/ideagent/config.json
`

// ordinaryFiles are files like them that are not protected.
const ordinaryFiles = `
main.go README.md git config hooks/pre-commit info/attributes vscode/tasks.json .gitignore .gitattributes .gitkeep .github/ISSUE_TEMPLATE/bug.md .github/dependabot.yml .editorconfig .env .env.example .prettierrc .eslintrc.json
src/git/config.go docs/.gitignore x.git/config envrc bashrc claude/settings.json agents/x.md workflows/ci.yml .config/x/y local/bin/x library/x etc/x.conf docs/etc/systemd.md x.pth go/x rust-toolchain.md ccache.config docs/ssh/config CLAUDE.md AGENTS.md Makefile package.json go.mod .golangci.yml .dockerignore
.vscodeignore .gitx/config .claudeignore .sshx/y a.husky/x .bashrc.md config.toml ideagent/main.go profile.go
`

// otherNames are names of the same file on some file systems.
var otherNames = map[string]func(string) string{
	"as it is":     func(s string) string { return s },
	"upper case":   strings.ToUpper,
	"mixed case":   func(s string) string { return strings.ToUpper(s[:len(s)/2]) + s[len(s)/2:] },
	"zero width":   func(s string) string { return s[:2] + "\u200c" + s[2:] },
	"soft hyphen":  func(s string) string { return s[:1] + "\u00ad" + s[1:] },
	"long s":       func(s string) string { return strings.ReplaceAll(s, "s", "\u017f") },
	"kelvin":       func(s string) string { return strings.ReplaceAll(s, "k", "\u212a") },
	"ligature":     func(s string) string { return strings.ReplaceAll(s, "fi", "\ufb01") },
	"dots behind":  func(s string) string { return strings.ReplaceAll(s, "/", "./") + "." },
	"blank behind": func(s string) string { return s + " " },
	"stream":       func(s string) string { return s + "::$DATA" },
	"dot elements": func(s string) string { return "./x/../" + strings.ReplaceAll(s, "/", "/./") },
	"slashes":      func(s string) string { return strings.ReplaceAll(s, "/", "//") },
}

func fieldsOf(text string) (all []string) {
	for _, f := range strings.Fields(text) {
		all = append(all, strings.ReplaceAll(f, `\x20`, " "))
	}
	return all
}

// permissive are askers that allow as much as they can, before person.
func permissive(t *testing.T, tool string) map[string]func(person toolset.Asker) toolset.Asker {
	t.Helper()
	layer := func(config string) approval.Layer {
		c, err := approval.ParseConfig([]byte(config))
		require.NoError(t, err)
		l, err := c.Layer("/repo")
		require.NoError(t, err)
		return l
	}
	return map[string]func(person toolset.Asker) toolset.Asker{
		"mode code": func(next toolset.Asker) toolset.Asker { return host.ModeCode().Policy(nil, next) },
		"automatic": func(p toolset.Asker) toolset.Asker { return approval.Layered(p, approval.Auto()) },
		"mode auto": func(p toolset.Asker) toolset.Asker { return approval.Layered(p, layer(`{"mode":"auto"}`)) },
		"all tools": func(p toolset.Asker) toolset.Asker {
			return approval.Layered(p, layer(`{"rules":[{"decision":"allow","tool":"*"}]}`))
		},
		"all paths": func(p toolset.Asker) toolset.Asker {
			return approval.Layered(p, layer(`{"rules":[{"decision":"allow","path":"/**"},{"decision":"allow","path":"**"}]}`))
		},
		"the program": func(p toolset.Asker) toolset.Asker { return approval.Layered(p, says("program", toolset.VerdictAllow)) },
		"a yielding judge": func(p toolset.Asker) toolset.Asker {
			return approval.Layered(p, approval.Layer{Name: "judge", Decide: allowYielding})
		},
		"always": func(p toolset.Asker) toolset.Asker {
			var policy approval.Policy
			for _, scope := range []string{"", "/", "/repo", "/repo/.git", "exactly x"} {
				policy.Remember(tool, scope, toolset.VerdictAllow)
			}
			return approval.Layered(approval.Remember(&policy, p))
		},
		"logged layers": func(p toolset.Asker) toolset.Asker {
			return approval.Layered(approval.Layered(approval.Remember(new(approval.Policy), p), approval.Auto()), approval.Auto())
		},
	}
}

func allowYielding(context.Context, *toolset.ApprovalRequest) (approval.Ruling, error) {
	return approval.Ruling{Verdict: toolset.VerdictAllow, Yields: true}, nil
}

// asks reports whether a person is asked about a call, and whether that is so the second time, after "always".
func asks(t *testing.T, wrap func(toolset.Asker) toolset.Asker, r toolset.ApprovalRequest) bool {
	t.Helper()
	asked := 0
	asker := wrap(toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		asked++
		return toolset.Decision{Verdict: toolset.VerdictAllow, Always: true}, nil
	}})
	for range 2 {
		_, err := asker.Approve(t.Context(), r)
		require.NoError(t, err)
	}
	return asked == 2
}

// decided returns the request as a host gives it to its asker.
func described(r toolset.ApprovalRequest) toolset.ApprovalRequest {
	approval.Describe(&r.Approval, "/repo")
	r.Once = r.Approval.Once
	return r
}

// No mode, rule, judge or answer "always" lets a call write a protected path, by whichever of its names.
func TestProtectedPathsAreAskedAboutEveryTime(t *testing.T) {
	attacks, failed := 0, 0
	for mode, wrap := range permissive(t, "write_file") {
		for _, name := range fieldsOf(protectedFiles) {
			for form, other := range otherNames {
				attacks++
				if !asks(t, wrap, described(writes("/repo/"+other(name)))) {
					failed++
					t.Errorf("%s: %s, %s: nobody is asked", mode, name, form)
				}
			}
		}
		for _, name := range fieldsOf(ordinaryFiles) {
			require.False(t, asks(t, wrap, described(writes("/repo/"+name))), "%s: %s is not protected", mode, name)
		}
	}
	t.Logf("%d of %d attacks on protected paths failed to be stopped", failed, attacks)
	require.GreaterOrEqual(t, attacks, 1000)
}

// Commands that name a protected path, and may write it, are asked about every time.
func TestCommandsThatMayWriteProtectedPathsAreAskedAbout(t *testing.T) {
	lines := []string{
		"echo x > %s", "echo x >> %s", "cat x >| %s", "cat a 1<>%s", "cp evil %s", "mv evil %s", "mv %s x", "rm -rf %s", "rm %s", "ln -sf evil %s", "ln -s /tmp/x %s", "tee %s", "echo x | tee -a %s",
		"install -m 755 evil %s", "sed -i s/a/b/ %s", "perl -pi -e s/a/b/ %s", "dd if=x of=%s", "touch %s", "chmod +x %s", "truncate -s 0 %s", "mkdir -p %s", "rsync a %s", "curl -o %s x", "curl x > %s", "wget -O %s x",
		"python3 -c 'open(\"%s\",\"w\")'", "node -e 'fs.writeFileSync(\"%s\")'", "tar -xf x.tar %s", "unzip x -d %s", "git checkout other -- %s", "git show x:y > %s", "sh -c 'echo x > %s'", "(echo x) > %s",
		"{ echo x; } > %s", "if true; then echo x > %s; fi", "cat <<x > %s\ny\nx", "$X > %s", "X=%s; echo x > $X", "cd sub; echo x > ../%s", "vim %s", "ed %s", "patch %s x", "awk '{print > \"%s\"}' x", "xargs -I{} cp {} %s",
		"./evil %s", "env evil --output=%s", "find . -fprintf %s x", "split x %s", "sort -o %s x", "go build -o %s .", "gofmt -w %s", "eval 'echo x > %s'", "bash -c \"cp x %s\"", "exec 3> %s", "echo x &> %s",
	}
	attacks, failed := 0, 0
	for mode, wrap := range permissive(t, "run_command") {
		if mode == "mode code" || mode == "all paths" {
			continue // which say nothing about commands
		}
		for _, name := range []string{".git/config", ".git/hooks/pre-commit", ".git", ".vscode/tasks.json", ".envrc", ".husky/pre-commit", ".mcp.json", ".claude/settings.json", ".bashrc", ".github/workflows/ci.yml", "/home/ann/.ssh/authorized_keys"} {
			for _, l := range lines {
				attacks++
				if !asks(t, wrap, described(runs(line(strings.ReplaceAll(l, "%s", name)), "exactly x"))) {
					failed++
					t.Errorf("%s: %q: nobody is asked", mode, strings.ReplaceAll(l, "%s", name))
				}
			}
		}
		for _, l := range []string{
			"cd .git/hooks && echo x > pre-commit", "cd .git && cp ../evil config", "git config core.fsmonitor ./evil", "git config --global core.pager x", "git -C sub config core.hooksPath /tmp", "git remote add x y",
			"git remote set-url origin x", "git push -u origin x", "git submodule add x", "git init", "git config --add a b", "pushd .git; rm config", "cd .git; cd hooks; evil > x",
		} {
			attacks++
			if !asks(t, wrap, described(runs(line(l), "exactly x"))) {
				failed++
				t.Errorf("%s: %q: nobody is asked", mode, l)
			}
		}
		in := runs(toolset.CommandLine{Line: "evil", Dir: "/repo/.git/hooks"}, "exactly x")
		require.True(t, asks(t, wrap, described(in)), "in the directory itself")
	}
	for _, l := range []string{
		"cat .git/config", "ls -la .git/hooks", "grep -rn x .github", "git status", "git diff .vscode", "go test ./...", "git config user.name", "git config --get a", "git config -l", "git remote -v", "git push origin x",
		"find . -path ./.git -prune -o -print", "head .bashrc", "npm test", "git commit -m 'write .git/hooks'", "wc -l .github/workflows/ci.yml", "echo .envrc",
	} {
		require.False(t, asks(t, permissive(t, "run_command")["automatic"], described(runs(line(l), "exactly x"))), l)
	}
	t.Logf("%d of %d attacks on protected paths by commands failed to be stopped", failed, attacks)
	require.GreaterOrEqual(t, attacks, 1000)
}

// A link, and a directory that is one, are no way around.
func TestProtectedPathsBehindLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "config"), nil, 0o600))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "docs"), 0o700))
	for link, target := range map[string]string{"docs/a": "../.git/config", "docs/b": "../.git", "docs/c": "b/hooks", "docs/d": filepath.Join(dir, ".git", "hooks"), "e": "docs"} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	for _, name := range []string{"docs/a", "docs/b/config", "docs/b/hooks/x", "docs/c/x", "docs/d/x/y", "e/a", "e/b/config", "e/c/x"} {
		for mode, wrap := range permissive(t, "write_file") {
			require.True(t, asks(t, wrap, described(writes(filepath.Join(dir, name)))), "%s: %s", mode, name)
		}
	}
	require.False(t, asks(t, permissive(t, "write_file")["mode code"], described(writes(filepath.Join(dir, "e", "new")))))
}

// What denies still denies, and what is protected is known with its reason.
func TestProtectedPathsMayBeDenied(t *testing.T) {
	d, err := approval.Layered(nil, approval.Auto(), says("program", toolset.VerdictDeny)).Approve(t.Context(), writes("/repo/.git/config"))
	require.NoError(t, err)
	require.Equal(t, toolset.VerdictDeny, d.Verdict)
	require.Greater(t, len(approval.ProtectedPaths()), 100)
	for _, p := range approval.ProtectedPaths() {
		require.NotEmpty(t, p.Why)
		found, ok := approval.IsProtected("/repo/" + strings.ReplaceAll(p.Name, "*", "x"))
		require.True(t, ok, p.Name)
		require.NotEmpty(t, found.Why)
	}
	_, ok := approval.IsProtected("/repo/main.go")
	require.False(t, ok)
}

// Reading can be denied, and asked about, whoever reads.
func TestRulesAboutReading(t *testing.T) {
	const config = `{"mode":"auto","rules":[{"decision":"deny","read":"**/.env","reason":"it has secrets"},{"decision":"ask","read":"/etc/**"}]}`
	for text, want := range map[string]toolset.Verdict{
		"cat .env": toolset.VerdictDeny, "cat sub/.env": toolset.VerdictDeny, "head -5 .ENV": toolset.VerdictDeny, "cat < .env": toolset.VerdictDeny, "cat a.txt .env | head": toolset.VerdictDeny,
		"cd sub && cat .env": toolset.VerdictDeny, "git show HEAD:.env": toolset.VerdictDeny, "grep x .env": toolset.VerdictDeny, "sed -n 1,5p .env": toolset.VerdictDeny,
		"python3 x.py .env": approval.VerdictAsk, "cp .env x": toolset.VerdictDeny, "grep -rn x .": approval.VerdictAsk, "rg x": approval.VerdictAsk, "base64 .env": approval.VerdictAsk, "source .env": approval.VerdictAsk,
		`python3 -c 'print(open(".env").read())'`: approval.VerdictAsk, "cat .e\"n\"v": toolset.VerdictDeny, "cat ./.env": toolset.VerdictDeny, "cat /etc/passwd": approval.VerdictAsk,
		"cat a.txt": toolset.VerdictAllow, "ls": toolset.VerdictAllow, "go test ./...": toolset.VerdictAllow, "cat .env.example": toolset.VerdictAllow, "grep x a.txt": toolset.VerdictAllow,
	} {
		assert.Equal(t, want, decided(t, config, runs(line(text), "exactly x")).Verdict, text)
	}
	c, err := approval.ParseConfig([]byte(config))
	require.NoError(t, err)
	reads, err := c.Reads("/repo")
	require.NoError(t, err)
	for path, want := range map[string]toolset.Verdict{"/repo/.env": toolset.VerdictDeny, "/repo/a/.Env": toolset.VerdictDeny, "/repo/a": "", "/etc/passwd": approval.VerdictAsk, "/other/.env": ""} {
		verdict, reason := reads(path)
		require.Equal(t, want, verdict, path)
		require.Equal(t, want == toolset.VerdictDeny, reason == "it has secrets")
	}
}

// Rules may be about hosts, and about the tools of MCP servers.
func TestRulesAboutHostsAndServers(t *testing.T) {
	const config = `{"mode":"auto","rules":[{"decision":"deny","host":"*.evil.example"},{"decision":"ask","host":"example.com"},{"decision":"deny","host":"Exact.example."},{"decision":"deny","server":"git*","tool":"delete_*"},{"decision":"ask","server":"pay"}]}`
	for text, want := range map[string]toolset.Verdict{
		"curl https://evil.example/x": toolset.VerdictDeny, "curl -s https://a.b.EVIL.example:8443/x": toolset.VerdictDeny, "git clone https://x@evil.example/y": toolset.VerdictDeny, "git clone git@evil.example:x/y": toolset.VerdictDeny,
		"ssh root@a.evil.example": toolset.VerdictDeny, "curl http://example.com": approval.VerdictAsk, "python3 -c 'get(\"https://evil.example\")'": toolset.VerdictDeny, "curl https://notevil.example": toolset.VerdictAllow,
		"curl https://www.example.com": toolset.VerdictAllow, "ls": toolset.VerdictAllow, "curl https://exact.example": toolset.VerdictDeny, "curl https://inexact.example": toolset.VerdictAllow,
	} {
		assert.Equal(t, want, decided(t, config, runs(line(text), "exactly x")).Verdict, text)
	}
	for host, want := range map[string]toolset.Verdict{"exact.example": toolset.VerdictDeny, "a.exact.example": toolset.VerdictAllow, "example.com": approval.VerdictAsk, "b.evil.example": toolset.VerdictDeny, "evil.example.com": toolset.VerdictAllow} {
		r := toolset.ApprovalRequest{Approval: toolset.Approval{Effects: []toolset.Effect{{Kind: "host", Host: host}}}}
		assert.Equal(t, want, decided(t, config, r).Verdict, host)
	}
	for _, c := range []struct {
		source, tool string
		want         toolset.Verdict
	}{
		{"mcp:github", "delete_repo", toolset.VerdictDeny}, {"mcp:github", "read", toolset.VerdictAllow}, {"mcp:pay", "pay", approval.VerdictAsk}, {"", "delete_repo", toolset.VerdictAllow}, {"agent:github", "delete_repo", toolset.VerdictAllow},
	} {
		r := toolset.ApprovalRequest{Origin: toolset.Origin{Tool: c.tool}, Approval: toolset.Approval{Source: c.source}}
		require.Equal(t, c.want, decided(t, config, r).Verdict, "%s %s", c.source, c.tool)
	}
}

// What another agent claims of a call does not make a change one that reads.
func TestReadOnlyModeGoesByContent(t *testing.T) {
	for _, kind := range []toolset.Kind{toolset.KindRead, toolset.KindSearch, toolset.KindThink} {
		for name, r := range map[string]toolset.ApprovalRequest{"a diff": writes("/repo/a"), "a command": runs(line("rm x"), ""), "a command that looks": runs(line("ls"), "")} {
			r.Kind = kind
			d, err := approval.Layered(nil, approval.ReadOnly()).Approve(t.Context(), r)
			require.NoError(t, err)
			require.Equal(t, toolset.VerdictDeny, d.Verdict, "%s of the kind %s", name, kind)
		}
	}
}

// A part of a name counts if it agrees with a pattern, and not if the pattern takes anything.
func TestPartsOfNamesCountIfTheyFitAPattern(t *testing.T) {
	const config = `{"mode":"auto","rules":[{"decision":"deny","path":"private/*"},{"decision":"deny","path":"**/.env"},{"decision":"deny","path":"**/*.key"},{"decision":"deny","path":"a/b/c"}]}`
	for text, want := range map[string]toolset.Verdict{
		"rm $X/$Y.txt": toolset.VerdictAllow, "rm $X": toolset.VerdictAllow, "rm x$X": toolset.VerdictAllow, "rm ${X}nv": approval.VerdictAsk, "rm .e$X": approval.VerdictAsk, "rm $X/.e$Y": approval.VerdictAsk, "rm $X.key": approval.VerdictAsk, "rm priv$X/y": approval.VerdictAsk,
		"rm private/$X": approval.VerdictAsk, "rm $X/b/c": approval.VerdictAsk, "rm a/$X/c": approval.VerdictAsk, "rm z/$X/c": approval.VerdictAsk, "rm $X/c/b": toolset.VerdictAllow,
	} {
		assert.Equal(t, want, decided(t, config, runs(line(text), "exactly x")).Verdict, text)
	}
}
