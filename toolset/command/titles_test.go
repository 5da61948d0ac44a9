// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// A scope says what it covers, to people and exactly: the command, its variables, where it runs, and
// what it has beyond the sandbox.
func TestScopesSayWhatTheyCover(t *testing.T) {
	p := project(t)
	root, sub := p.Roots[0], filepath.Join(p.Roots[0], "sub")
	long := strings.Repeat("x", 58)
	deep := filepath.Join(append([]string{root}, strings.Split(strings.Repeat("deep/", 12), "/")...)...)
	for i, c := range []struct {
		command     command.Command
		scope       string
		title       string
		parts, more []string
	}{
		{command.Command{Line: "git push", Dir: root}, `exactly sh "git push" in ROOT`, "exactly `git push`", nil, nil},
		{command.Command{Args: []string{"git", "push it"}, Dir: root}, `exactly ["git" "push it"] in ROOT`, "exactly `git 'push it'`", nil, nil},
		{command.Command{Line: "git push", Dir: sub}, `exactly sh "git push" in SUB`, "exactly `git push` in sub", nil, nil},
		{command.Command{Line: "git push", Dir: "/elsewhere"}, `exactly sh "git push" in "/elsewhere"`, "exactly `git push` in /elsewhere", nil, nil},
		{command.Command{Line: "git push", Dir: deep}, `exactly sh "git push" in DEEP`, "exactly `git push` in " + strings.TrimSuffix(strings.Repeat("deep/", 12), "/"), nil, nil},
		{command.Command{Line: "git push", Dir: deep + "/x"}, `exactly sh "git push" in DEEPX`, "exactly this command", nil, nil},
		{command.Command{Line: "git push", Dir: root + "/\u202e"}, "exactly sh \"git push\" in ROOTU", "exactly this command", nil, nil},
		{command.Command{Line: "a " + long, Dir: root}, `exactly sh "a ` + long + `" in ROOT`, "exactly `a " + long + "`", nil, nil},
		{command.Command{Line: "ab " + long, Dir: root}, `exactly sh "ab ` + long + `" in ROOT`, "exactly this command", nil, nil},
		{command.Command{Line: "ls", Dir: root, Env: []string{"A=b", "C=d e"}}, `exactly sh "ls" in ROOT with ["A=b" "C=d e"]`, "exactly `A=b C='d e' ls`", nil, nil},
		{command.Command{Line: "ls", Dir: root, Sandbox: model.SandboxNetwork}, `exactly sh "ls" in ROOT sandbox "network"`, "exactly `ls` with the network", nil, nil},
		{command.Command{Line: "ls", Dir: root, Sandbox: model.SandboxNone}, `exactly sh "ls" in ROOT sandbox "none"`, "exactly `ls` outside of the sandbox", nil, nil},
		{command.Command{Line: "ab " + long, Dir: root, Sandbox: model.SandboxNetwork}, `exactly sh "ab ` + long + `" in ROOT sandbox "network"`, "exactly this command with the network", nil, nil},
		{command.Command{Line: "ls", Dir: deep + "/x", Sandbox: model.SandboxNetwork}, `exactly sh "ls" in DEEPX sandbox "network"`, "exactly this command with the network", nil, nil},
		{command.Command{Line: "ls", Dir: root}, "ls", "`ls` (ordinary options, project files)", nil, []string{`exactly sh "ls" in ROOT`}},
		{command.Command{Args: []string{"pwd"}, Dir: sub}, "pwd", "`pwd` (ordinary options)", nil, []string{`exactly ["pwd"] in SUB`}},
		{command.Command{Line: "pwd; whoami", Dir: root}, `exactly sh "pwd; whoami" in ROOT`, "`pwd` and `whoami` (ordinary options)", []string{"pwd", "whoami"}, nil},
		{command.Command{Line: "pwd && ls && pwd && id", Dir: root}, `exactly sh "pwd && ls && pwd && id" in ROOT`, "`id`, `ls` and `pwd` (ordinary options, project files)", []string{"id", "ls", "pwd"}, nil},
		{command.Command{Line: "sed -n 5p", Dir: root}, "sed -n", "`sed -n` (ordinary options, project files)", nil, []string{`exactly sh "sed -n 5p" in ROOT`}},
		{command.Command{Line: "go vet .", Dir: root}, "go vet", "`go vet` (ordinary options, project files)", nil, []string{`exactly sh "go vet ." in ROOT`}},
		{command.Command{Line: "echo a", Dir: root}, "echo", "`echo` (ordinary options)", nil, []string{`exactly sh "echo a" in ROOT`}},
		{command.Command{Line: "ls", Dir: "relative"}, `exactly sh "ls" in "relative"`, "exactly `ls` in relative", nil, nil},
		{command.Command{Line: "ls", Dir: "/elsewhere"}, `exactly sh "ls" in "/elsewhere"`, "exactly `ls` in /elsewhere", nil, nil},
		{command.Command{Line: "ls", Args: []string{"ls"}, Dir: root}, `exactly sh "ls" in ROOT`, "exactly `ls`", nil, nil},
		{command.Command{Dir: root}, `exactly [] in ROOT`, "exactly ``", nil, nil},
		{command.Command{Args: []string{""}, Dir: root}, `exactly [""] in ROOT`, "exactly `''`", nil, nil},
		{command.Command{Line: "cd sub && ls", Dir: root}, "ls", "`ls` (ordinary options, project files)", nil, []string{`exactly sh "cd sub && ls" in ROOT`}},
		{command.Command{Line: "cd sub", Dir: root}, `exactly sh "cd sub" in ROOT`, "exactly `cd sub`", nil, nil},
		{command.Command{Line: "cd out && ls", Dir: root}, `exactly sh "cd out && ls" in ROOT`, "exactly `cd out && ls`", nil, nil},
		{command.Command{Line: "cd sub; ls", Dir: root}, `exactly sh "cd sub; ls" in ROOT`, "exactly `cd sub; ls`", nil, nil},
		{command.Command{Line: "cd sub || ls", Dir: root}, `exactly sh "cd sub || ls" in ROOT`, "exactly `cd sub || ls`", nil, nil},
		{command.Command{Line: "cd && ls", Dir: root}, `exactly sh "cd && ls" in ROOT`, "exactly `cd && ls`", nil, nil},
		{command.Command{Line: "cd sub x && ls", Dir: root}, `exactly sh "cd sub x && ls" in ROOT`, "exactly `cd sub x && ls`", nil, nil},
		{command.Command{Line: "cd - && ls", Dir: root}, `exactly sh "cd - && ls" in ROOT`, "exactly `cd - && ls`", nil, nil},
		{command.Command{Line: "cd sub > /dev/null && ls", Dir: root}, `exactly sh "cd sub > /dev/null && ls" in ROOT`, "exactly `cd sub > /dev/null && ls`", nil, nil},
		{command.Command{Line: "ls | cd sub", Dir: root}, `exactly sh "ls | cd sub" in ROOT`, "exactly `ls | cd sub`", nil, nil},
		{command.Command{Line: "cd sub && git status", Dir: root}, `exactly sh "cd sub && git status" in ROOT`, "exactly `cd sub && git status`", nil, nil},
		{command.Command{Line: "cd " + p.Roots[1] + " && git status", Dir: root}, "git status", "`git status` (ordinary options, project files)", nil, []string{`exactly sh "cd MORE && git status" in ROOT`}},
	} {
		s := command.ScopeOf(c.command, p)
		place := strings.NewReplacer("DEEPX", `"`+deep+`/x"`, "DEEP", `"`+deep+`"`, "ROOTU", `"`+root+`/\u202e"`, "ROOT", `"`+root+`"`, "SUB", `"`+sub+`"`, "MORE", p.Roots[1])
		var covers []string
		for _, text := range c.more {
			covers = append(covers, place.Replace(text))
		}
		require.Equal(t, command.Scope{Scope: place.Replace(c.scope), Title: c.title, Parts: c.parts, Covers: covers}, s, "%d: %+v", i, c.command)
	}
	for _, line := range []string{"! ls", "ls &", "ls # x", "(ls)", "{ ls; }", "ls | (cat)", "ls | ls &", "ls > a", "ls && ls > a", "ls > a && ls", "(ls && ls) | cat", "ls | { cat; }", "ls && ! ls", "if ls; then ls; fi", "ls |& cat", "A=b ls", "cd '' && ls", "cd ../more && ls", "cd sub && cd .. && ls", "ls a\x7fb", "ls \u0080"} {
		require.Contains(t, command.ScopeOf(at(p, line), p).Scope, "exactly ", line)
		require.Empty(t, command.ScopeOf(at(p, line), p).Parts, line)
	}
	for _, line := range []string{"ls\u00a0", "ls à", "ls | cat || pwd", "ls && ls | cat && ls"} {
		s := command.ScopeOf(at(p, line), p)
		require.Equal(t, line != "ls\u00a0", len(s.Parts)+len(s.Covers) > 0, line)
	}
	p.Windows = true
	require.Contains(t, command.ScopeOf(at(p, "ls"), p).Scope, "exactly ", "on Windows every scope is exact")
}

// Without an answer of the place itself, links of this machine decide what lies in it.
func TestPlacesFollowLinks(t *testing.T) {
	p := project(t)
	for path, inside := range map[string]bool{
		"a.txt": true, "none.txt": true, "none/deep/a.txt": true, ".": true, "self/a.txt": true, "out": false, "out/secret": false, "passwd": false, "dangling": false,
		"dangling/x": false, "a.txt/x": false, p.Roots[1]: true, filepath.Dir(p.Roots[0]): false, "/etc/passwd": false, "/": false,
	} {
		require.Equal(t, inside, command.ScopeOf(at(p, "cat "+path), p).Covers != nil, path)
	}
	asked := ""
	p.Inside = func(path string) bool { asked += path + "\n"; return !strings.HasSuffix(path, ".txt") }
	require.Nil(t, command.ScopeOf(at(p, "cat a.txt"), p).Covers)
	require.NotNil(t, command.ScopeOf(at(p, "cat /etc/passwd"), p).Covers)
	require.Equal(t, p.Roots[0]+"\n"+p.Roots[0]+"/a.txt\n"+p.Roots[0]+"\n/etc/passwd\n", asked)
	p.Inside, p.Roots = nil, []string{"/nonexistent/root"}
	require.NotNil(t, command.ScopeOf(command.Command{Line: "ls", Dir: "/nonexistent/root"}, p).Covers)
	require.Nil(t, command.ScopeOf(command.Command{Line: "ls", Dir: "/nonexistent"}, p).Covers)
}

// Named paths are the words, their parts, the values of options, and what the kernel has for them.
func TestPathsThatWordsMayName(t *testing.T) {
	for word, want := range map[string]string{
		"a": "/repo/a", "/a/b": "/a/b", "~/a": "~/a", "a/../b": "/repo/b /repo/a/../b", "../a": "/a /repo/../a", "..": "/ /repo/..", "a..b": "/repo/a..b",
		"of=a": "/repo/of=a /repo/of /repo/a", "x=/etc/a": "/repo/x=/etc/a /repo/x /etc/a", "=a": "/repo/=a /repo/a", "a=": "/repo/a= /repo/a",
		"open('a')": "/repo/open('a') /repo/open /repo/a", "a,b:c;d": "/repo/a,b:c;d /repo/a /repo/b /repo/c /repo/d", "a b\tc\nd": "/repo/a b\tc\nd /repo/a /repo/b /repo/c /repo/d",
		"a|b&c<d>e": "/repo/a|b&c<d>e /repo/a /repo/b /repo/c /repo/d /repo/e", `[a]{b}"c"@d$e`: `/repo/[a]{b}"c"@d$e /repo/a /repo/b /repo/c /repo/d /repo/e`, "`a`": "/repo/`a` /repo/a",
		"-oa": "/repo/-oa /repo/a", "-o": "/repo/-o", "--a": "/repo/--a", "-o/x/a": "/repo/-o/x/a /x/a", "": "/repo", "==": "/repo/==",
		"/proc/self/cwd/a": "/proc/self/cwd/a /repo/a", "/proc/self/cwd/../a": "/proc/self/a /proc/self/cwd/../a /repo/../a", "if=/proc/1/root/etc": "/repo/if=/proc/1/root/etc /repo/if /proc/1/root/etc /etc",
	} {
		require.Equal(t, want, strings.Join(command.Named(model.Effect{Kind: model.EffectUnknown, Argv: []string{word}, Dir: "/repo"}), " "), word)
	}
	require.Equal(t, []string{"a", "../b", "/c"}, command.Named(model.Effect{Argv: []string{"a", "../b", "/c"}}), "without a directory")
}

// Patterns are the words of a command, and of those that pipes join. What no command fits is said.
func TestPatternsOfRules(t *testing.T) {
	const several, leave = "it has several commands; make a rule of each", `it has "!" or "&"; leave that out`
	const work = "it has a word that a shell would work out; write each command as it is run"
	for text, want := range map[string]string{
		"git push": "git_push", "git 'push it'": "git_push it", `git "push it"`: "git_push it", "ls | grep x": "ls|grep_x", "ls | a | b c": "ls|a|b_c", "a |& b": "a|b",
		"a\\ b": "a b", "a '*'": "a_*", "a~": "a~", "ls # more": "ls",
		"'": "a shell cannot read it", "": "it has no command", "# x": "it has no command", "a; b": several, "a\nb": several, "a && b": several, "a || b": several, "a | b && c": several,
		"a > b":   "it has a redirection; make a rule with path of the file that is written",
		"a | b>c": "it has a redirection; make a rule with path of the file that is written", "a>b | c": "it has a redirection; make a rule with path of the file that is written",
		"! a": leave, "a &": leave, "A=b c": "it sets a variable; leave that out: the command is found with any", "(a)": "it is more than a command with its words", "{ a; }": "it is more than a command with its words",
		"a $X": work, "a $(b)": work, "a {b,c}": work, "a \"$X\"": work, "a $'b'": work, "a | $X": work, "$X | a": work,
		"a *": `"*" has a wildcard, which has no meaning here; leave it out: a rule covers what follows its words`, "a b?": `"b?" has a wildcard, which has no meaning here; leave it out: a rule covers what follows its words`,
		"a [b]": `"[b]" has a wildcard, which has no meaning here; leave it out: a rule covers what follows its words`, `a \*`: `"*" has a wildcard, which has no meaning here; leave it out: a rule covers what follows its words`,
	} {
		stages, err := command.Pattern(text)
		if err != nil {
			require.EqualError(t, err, want, text)
			continue
		}
		var all []string
		for _, words := range stages {
			all = append(all, strings.Join(words, "_"))
		}
		require.Equal(t, want, strings.Join(all, "|"), text)
	}
}
