// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/command"
)

// named and exact are lines that have a named scope, and lines that are covered exactly. They stand side by side: each pair differs in what
// decides.
const named = `
ls --color
ls --color a.txt
ls --color=auto -l
ls -lt --reverse sub
wc --lines a.txt
head --lines 5 a.txt
head --lines -5 a.txt
head --lines=5 a.txt
head -n5 a.txt
head -qn 5 a.txt
head -5 a.txt
head -05 a.txt
head -9 a.txt
head -5k a.txt
cat -nb - a.txt
cat -- a.txt
cat a.txt -- b.txt
cut --delimiter x a.txt
cut --delimiter=-x a.txt
grep -e foo a.txt
grep -ie foo a.txt
grep --regexp foo a.txt
grep --regexp=/etc/passwd a.txt
git log -M
git log -M a.txt
git log -M50
git log -20
git status
git remote -v
git show HEAD~2
git show HEAD^^
git show HEAD~~
npm run build
npm run test:unit
make -j
make -j4
make all
go test -run=TestX ./a
go test --run=TestX ./a
go test --run TestX ./a
go test -v=true .
go test -v=false .
go test -count 1 .
go test main.go
go test ./...
go list -json ./a
go list -json=Dir ./a
find . '!' -name x
find . '(' -name a ')'
sed -n 1,5p
sed -n 1,5p a.txt b.txt
sed -n '5,$p' a.txt
cmp a.txt b.txt
uniq a.txt
date +%F
sleep 5
echo
echo a=b
echo "a\b"
echo 'a$b'
grep "a\." a.txt
ls > /dev/null
ls >> /dev/null
ls 2> /dev/null
ls 2>&1
ls 1>&2
ls | head
ls | head | tail
ls && cd sub
cd sub && cd deep && ls
go vet ./a || go test ./a
git log @
`

const exact = `
ls --color /etc/passwd
ls --color=a/b
ls --all=x
ls --nope
ls -lZ
wc --lines=5 a.txt
head --lines
head --lines x a.txt
head --lines=x a.txt
head -nx a.txt
head -n
head -+5 a.txt
head '-#' a.txt
head -/ a.txt
head -: a.txt
cat -5 a.txt
cat -nz a.txt
cat -n/etc/passwd
cat -- -n
cat -- /etc/passwd
cut --delimiter -x a.txt
grep -e
grep -e /etc/passwd a.txt
grep --regexp /etc/passwd a.txt
git log -M /etc/passwd
git log -Mx.
git
git remote add
git show ~2
git show ^a
git show =a
npm run
npm run -x
npm run 'a b'
npm run build x
make -jx.
go test -v=x .
go test -nope .
go test -count=x .
go test -count
go test fmt
go test ../x.go
go list -json /etc
go list -json=/x ./a
find . ! -name /etc/passwd -exec
sed -n
sed -n a.txt
sed -n 1,5p /etc/passwd
cmp a.txt b.txt main.go
uniq a.txt b.txt
pwd x
date x
sleep 5 5
echo ''
echo "a\\b"
echo "a\"b"
echo "$a"
echo "a!b"
echo $'a'
ls > a.txt
ls > /dev/nul
ls 3>&1
ls 2>&3
ls < /dev/null
ls | cd sub
cd sub | ls
cd sub > /dev/null && ls
cd sub; ls
cd sub || ls
cd -
cd -- sub
cd a b && ls
cd sub/.. && ls
ls &
! ls
ls # x
A=b ls
ls && cd /tmp
ls && cd ..
ls && cd -P sub
ls && (sh)
ls && { sh; }
ls || sh
ls || (sh)
(ls)
if ls; then sh; fi
cat @
cat @~2
git log @x
git log @~/../x
`

func TestValuesDecideAboutTheScope(t *testing.T) {
	p := project(t)
	for list, want := range map[string]bool{named: true, exact: false} {
		for line := range strings.Lines(strings.TrimSpace(list)) {
			line = strings.TrimSpace(line)
			s := command.ScopeOf(at(p, line), p)
			assert.Equal(t, want, len(s.Covers)+len(s.Parts) > 0, line)
			assert.Equal(t, want, !strings.HasPrefix(s.Title, "exactly"), line)
		}
	}
}

func TestArgumentsWithoutAShellAreCoveredIfAShellWouldRunTheSame(t *testing.T) {
	p := project(t)
	for _, tt := range []struct {
		want  bool
		words []string
	}{
		{true, []string{"grep", "foo$", "a.txt"}},
		{true, []string{"grep", "a b", "a.txt"}},
		{false, []string{"grep", "$x", "a.txt"}},
		{false, []string{"grep", "a$b$", "a.txt"}},
		{false, []string{"grep", "`x`", "a.txt"}},
		{false, []string{"grep", "a\u202eb", "a.txt"}},
		{false, []string{"grep", "a\nb", "a.txt"}},
		{false, []string{"cd", "sub"}},
		{false, []string{""}},
	} {
		assert.Equal(t, tt.want, len(command.ScopeOf(args(p, tt.words...), p).Covers) > 0, "%q", tt.words)
	}
	both := args(p, "ls")
	both.Line = "ls"
	require.Empty(t, command.ScopeOf(both, p).Covers, "either a line or arguments")
	require.Empty(t, command.ScopeOf(command.Command{Dir: p.Roots[0]}, p).Covers, "neither")
}

func TestScopesHoldInTheSessionsDirectories(t *testing.T) {
	p := project(t)
	root, more := p.Roots[0], p.Roots[1]
	covered := func(line, dir string, p command.Place) bool {
		return len(command.ScopeOf(command.Command{Line: line, Dir: dir}, p).Covers) > 0
	}
	require.True(t, covered("git status", root, p))
	require.True(t, covered("git status", more, p))
	require.True(t, covered("ls", filepath.Join(root, "sub"), p))
	require.True(t, covered("ls "+filepath.Join(more, "new"), root, p), "what does not exist is where its directory is")
	require.False(t, covered("git status", filepath.Join(root, "sub"), p), "a repository of somebody else")
	require.False(t, covered("ls", filepath.Dir(root), p))
	require.False(t, covered("cd .. && ls", filepath.Join(root, "sub"), p))
	require.False(t, covered("cd out && ls", root, p), "a link that leads out")
	require.False(t, covered("ls", "sub", p), "a relative directory")
	require.False(t, covered("cat dangling", root, p))
	require.False(t, covered("ls", root, command.Place{Roots: p.Roots, Windows: true}))
	require.True(t, covered("cat /elsewhere", "/", command.Place{Inside: func(string) bool { return true }}))
	require.False(t, covered("cat a.txt", root, command.Place{Roots: p.Roots, Inside: func(string) bool { return false }}))
}

func TestExactScopesAreUnambiguous(t *testing.T) {
	p := project(t)
	seen := map[string]string{}
	for name, c := range map[string]command.Command{
		"a line":               {Line: "git push", Dir: "/a"},
		"arguments":            {Args: []string{"git", "push"}, Dir: "/a"},
		"other arguments":      {Args: []string{"git push"}, Dir: "/a"},
		"another directory":    {Line: "git push", Dir: "/b"},
		"a variable":           {Line: "git push", Dir: "/a", Env: []string{"A=b"}},
		"another variable":     {Line: "git push", Dir: "/a", Env: []string{"A=c"}},
		"a variable's quote":   {Line: "git push", Dir: "/a", Env: []string{`A=b" "C=d`}},
		"two variables":        {Line: "git push", Dir: "/a", Env: []string{"A=b", "C=d"}},
		"a quote in the line":  {Line: `git push" in "/b`, Dir: "/a"},
		"ls has a named scope": {Line: "ls", Dir: "/a", Env: []string{"A=b"}},
	} {
		scope := command.ScopeOf(c, p).Scope
		require.Empty(t, seen[scope], name)
		seen[scope] = name
	}
}

func TestTitlesShowShortCommandsOnly(t *testing.T) {
	p := project(t)
	root := p.Roots[0]
	long := "git push " + strings.Repeat("x", 51) // 60 bytes
	deep := "d" + strings.Repeat("x", 59)
	for _, tt := range []struct {
		c    command.Command
		want string
	}{
		{command.Command{Line: long, Dir: root}, "exactly `" + long + "`"},
		{command.Command{Line: long + "x", Dir: root}, "exactly this command"},
		{command.Command{Args: []string{"git", "push", "a b"}, Dir: root}, "exactly `git push 'a b'`"},
		{command.Command{Line: "ls", Dir: root, Env: []string{"A=b", "C=d e"}}, "exactly `A=b C='d e' ls`"},
		{command.Command{Line: "git push", Dir: filepath.Join(root, "sub")}, "exactly `git push` in sub"},
		{command.Command{Line: "git push", Dir: "/elsewhere"}, "exactly `git push` in /elsewhere"},
		{command.Command{Line: "git push", Dir: filepath.Join(root, deep)}, "exactly `git push` in " + deep},
		{command.Command{Line: "git push", Dir: filepath.Join(root, deep+"x")}, "exactly this command"},
		{command.Command{Line: "git push", Dir: filepath.Join(root, "a\u202eb")}, "exactly this command"},
	} {
		require.Equal(t, tt.want, command.ScopeOf(tt.c, p).Title)
	}
	require.Equal(t, "`cat`, `ls` and `pwd` (ordinary options, project files)", command.ScopeOf(at(p, "pwd && ls && cat a.txt && ls"), p).Title)
	require.Equal(t, []string{"pwd", "whoami"}, command.ScopeOf(at(p, "whoami; pwd"), p).Parts)
	require.Equal(t, "`pwd` and `whoami` (ordinary options)", command.ScopeOf(at(p, "whoami; pwd"), p).Title)
}
