// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// TestWritesThatNobodyNames has commands that change a file which another program obeys, and their neighbours that do not.
func TestWritesThatNobodyNames(t *testing.T) {
	const git = ".git/config"
	for line, want := range map[string]string{
		"git config a b": git, "git config a": "", "git config --get a b": "", "git config --list --local": "", "git config -l x": "",
		"git config get a": "", "git config list a": "", "git config --edit": git, "git config -e": git, "git config edit": git, "git config": git,
		"git -C sub config a b": git, "git -c x=y config a b": git, "git --git-dir d config a b": git, "git --no-pager config a b": git, "git -C": "",
		"git -p": "", "git": "", "/usr/bin/git config a b": git, "gitk config a b": "",
		"git remote": "", "git remote show x": "", "git remote add a b": git, "git remote rm a": git, "git remote set-url a b": git,
		"git push": "", "git push -u a": git, "git push -fu a": git, "git push --set-upstream a": git, "git push --set-u a": git, "git push --s a": "",
		"git branch -u a": git, "git branch --unset-upstream": git, "git branch --edit-description=x": git, "git branch -d a": "",
		"git fetch": "", "git fetch --set-upstream a": git, "git pull --set-upstream": git, "git pull -u": "",
		"git clone a": "", "git clone -c a=b c": git, "git clone --template=d a": git, "git clone --config a=b c": git,
		"git submodule": "", "git submodule status": "", "git submodule summary": "", "git submodule add a": git, "git submodule update": git,
		"git annex init": git, "git annex get a": "", "git svn clone a": git, "git secret reveal": "",
		"git credential approve": git, "git credential fill": "", "git credential-store store": git, "git credential-store get": "",
		"git init": git, "git lfs install": git, "git sparse-checkout set a": git, "git maintenance start": git, "git show": "",
		"xargs git config a": git, "sudo git remote add a b": git, "cat git config a b": "",
		"scalar register": git, "scalar list": "",
		"crontab f": "spool/cron", "crontab -l": "", "crontab": "spool/cron",
		"hg config -e": ".hgrc", "hg config": "", "hg -e config": "", "hg config --edit=x": ".hgrc",
		"jj git clone a": ".jj", "jj clone git": "", "jj git init": ".jj", "jj git push": "",
		"claude mcp add a": ".claude.json", "claude add": "", "claude mcp list": "",
		"systemd-run a": ".config/systemd", "ssh-keygen -F a": "", "ssh-keygen -f a": ".ssh", "ssh-keygen -y -f a": "",
	} {
		var got []string
		for _, e := range command.Effects(command.Command{Args: strings.Fields(line), Dir: "/repo"}, command.Place{}) {
			if path := strings.TrimPrefix(e.Path, "/repo/"); e.Kind == model.EffectWrite && !slices.Contains(got, path) && (want == path || path == git) {
				got = append(got, path)
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), line)
	}
}

func TestHostsOfWords(t *testing.T) {
	for word, want := range map[string]string{
		"http://a.example/x": "a.example", "https://A.Example": "a.example", "ssh://u@a.example:22/x": "a.example", "ftp://u:p@b@a.example/": "a.example",
		"http://[::1]:8080/x": "::1", "http://[::1]/": "::1", "x=http://a/,http://b/": "a b", "http://u@/x": "", "://a/": "", "1://a/": "",
		"git@a.example:o/r": "a.example", "u@A.example": "a.example", "u@host": "", "@a.example": "", "-u@a.example": "", "a/b@c.example": "",
		"a:b@c.example": "", "a=b@c.example": "", "u@a/b.example": "", "u@a.example:1/2": "a.example", "a.example": "",
	} {
		var got []string
		for _, e := range command.Effects(command.Command{Args: []string{"deploy", word}, Dir: "/repo"}, command.Place{}) {
			if e.Kind == model.EffectHost {
				got = append(got, e.Host)
			}
		}
		assert.Equal(t, want, strings.Join(got, " "), word)
	}
}

// TestEscapesOfShells has what bash makes of $'…'.
func TestEscapesOfShells(t *testing.T) {
	for text, want := range map[string]string{
		`\x61`: "a", `\x6`: "\x06", `\x61b`: "ab", `\x6g`: "\x06g", `\x6Fc`: "oc", `\x/a`: "/a", `\x:a`: ":a", "\\x`a": "`a",
		`\u00e9x`: "éx", `\u61`: "a", `\u00e9a`: "éa", `\U0001F600`: "😀", `\U00000061b`: "ab", `\U61`: "a",
		`\141`: "a", `\1411`: "a1", `\18`: "\x018", `\7x`: "\x07x", `\8`: "8", `\61`: "1",
		`\n`: "\n", `\t`: "\t", `\a`: "a", `\\`: `\`, `a\nb`: "a\nb", `plain`: "plain",
	} {
		line := "rm p$'" + text + "'q"
		var got []string
		for _, e := range command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{}) {
			got = append(got, e.Argv...)
		}
		assert.Contains(t, got, "p"+want+"q", line)
	}
}
