// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/command"
)

func TestAlwaysCoversNothingDangerous(t *testing.T) {
	place, all := project(t), pairs(dangerous)
	programs := map[string]bool{}
	for _, pair := range all {
		p := newPerson(place)
		p.isAsked(t, at(place, pair[0]))
		assert.True(t, p.isAsked(t, at(place, pair[1])), "%s => %s", pair[0], pair[1])
		programs[strings.Fields(pair[0])[0]] = true
		if words := strings.Fields(pair[1]); !strings.ContainsAny(pair[1], "|&;<>$'\"*{}~") {
			p := newPerson(place)
			p.isAsked(t, args(place, strings.Fields(pair[0])...))
			assert.True(t, p.isAsked(t, args(place, words...)), "without a shell: %s => %s", pair[0], pair[1])
		}
	}
	require.GreaterOrEqual(t, len(all), 200)
	require.GreaterOrEqual(t, len(programs), 50)
}

// Everything that is allowed alone is allowed, and still none of the others.
func TestAllThatIsAllowedTogetherCoversNothingDangerous(t *testing.T) {
	place, all := project(t), pairs(dangerous)
	p := newPerson(place)
	for _, pair := range append(pairs(everyday), all...) {
		p.isAsked(t, at(place, pair[0]))
	}
	allowed := map[string]bool{}
	for _, pair := range all {
		allowed[pair[0]] = true
	}
	for _, pair := range all {
		s := command.ScopeOf(at(place, pair[1]), place)
		if allowed[pair[1]] || len(s.Covers)+len(s.Parts) > 0 { // asked about before, or harmless in itself
			continue
		}
		allowed[pair[1]] = true
		assert.True(t, p.isAsked(t, at(place, pair[1])), pair[1])
	}
}

// Input from another program may be code to what the project runs.
func TestOnlyWhatLooksAtFilesReadsFromPipes(t *testing.T) {
	place := project(t)
	p := newPerson(place)
	for _, c := range []string{"echo a", "npm run build", "git add a.txt", "tail a.txt"} {
		p.isAsked(t, at(place, c))
	}
	require.False(t, p.isAsked(t, at(place, "npm run build | tail -1")))
	require.True(t, p.isAsked(t, at(place, "echo a | npm run build")))
	require.True(t, p.isAsked(t, at(place, "echo a | git add a.txt | tail")))
}

// A changed environment, and another directory, make another command of what is allowed exactly.
func TestExactScopesHoldEverything(t *testing.T) {
	place := project(t)
	for _, base := range []command.Command{at(place, "go test ./..."), at(place, "deploy now"), args(place, "deploy", "now")} {
		p := newPerson(place)
		p.isAsked(t, base)
		require.False(t, p.isAsked(t, base))
		for _, env := range [][]string{{"A=b"}, {"A=c"}, {"A=b", "B=c"}, {"GOFLAGS=-toolexec=sh"}, {"PATH=/tmp"}, {"LD_PRELOAD=/tmp/x"}} {
			c := base
			c.Env = env
			require.True(t, p.isAsked(t, c), env)
			require.False(t, p.isAsked(t, c), env)
		}
		elsewhere := base
		elsewhere.Dir = place.Roots[0] + "/out"
		require.True(t, p.isAsked(t, elsewhere))
	}
	p := newPerson(place)
	p.isAsked(t, at(place, "deploy now"))
	sub := at(place, "deploy now")
	sub.Dir += "/sub"
	require.True(t, p.isAsked(t, sub))
	require.True(t, p.isAsked(t, args(place, "deploy", "now")), "one is read by a shell")
	require.True(t, p.isAsked(t, args(place, "deploy", "now", "")))
	require.True(t, p.isAsked(t, at(place, "deploy  now")))
}

// Characters that look like others, or like nothing, never make a command one that is allowed.
func TestLookAlikesAreOtherCommands(t *testing.T) {
	place := project(t)
	p := newPerson(place)
	for _, c := range []string{"go test ./...", "cat a.txt", "git log", "ls", "rg foo"} {
		p.isAsked(t, at(place, c))
	}
	for _, c := range []string{
		"gо test ./...", "go tеst ./...", "ｇｏ test ./...", "go\u00a0test ./...", "go test\u2003./...", "go\u200b test ./...",
		"go test ./...\u202e", "go test \u2066./...", "go te\u00adst ./...", "\ufeffgo test ./...", "go test ./\u3164", "cat a.txt\u200d",
		"cat a\u034f.txt", "cat \u2800", "cat \ufffd", "cat a.txt\x00b", "cat a.txt\x1b[2K", "cat a.txt\rls", "cat a.txt\nrm b", "cat\ta.txt",
		"cat a.txt\u2028rm", "cat a.txt\u0085rm", "cat \xff", "cat a\ufe0f.txt", "cat \U000e0041",
		"cat \U000f0000", "cat \u180e", "cat \u061c.txt",
	} {
		assert.True(t, p.isAsked(t, at(place, c)), "%q", c)
		if words := strings.Split(c, " "); len(words) > 1 {
			assert.True(t, p.isAsked(t, args(place, words...)), "%q", words)
		}
	}
	// A dash that is not "-" begins the name of a file.
	require.False(t, p.isAsked(t, at(place, "rg ‐‐pre=sh foo")))
}

func TestEveryScopeIsExactOnWindows(t *testing.T) {
	place := project(t)
	place.Windows = true
	for _, rule := range command.Table() {
		s := command.ScopeOf(args(place, rule.Words...), place)
		require.Contains(t, s.Scope, "exactly ")
		require.Empty(t, s.Parts)
	}
}
