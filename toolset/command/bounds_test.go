// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

const anything = "read:/ write:/ unknown"

func effectsOf(c command.Command) []model.Effect {
	if c.Dir == "" {
		c.Dir = "/repo"
	}
	return command.Effects(c, command.Place{})
}

// A line may have 500 effects. Of one with more, the first 497 are told, and that it may do
// anything.
func TestLinesHaveFiveHundredEffects(t *testing.T) {
	of := func(commands int) string {
		var b strings.Builder
		for i := range commands {
			fmt.Fprintf(&b, "rm f%d; ", i)
		}
		return b.String()
	}
	whole := effectsOf(command.Command{Line: of(250)})
	require.Len(t, whole, 500)
	require.Equal(t, "run:rm_f249 write:f249", written(whole[498:]))
	for _, more := range []string{of(251), of(250) + "deploy", of(250) + "true"} {
		effects := effectsOf(command.Command{Line: more})
		require.Len(t, effects, 500)
		require.Equal(t, whole[:497], effects[:497])
		require.Equal(t, anything, written(effects[497:]))
	}
}

// A line is read up to 64 KiB.
func TestLinesOfSixtyFourKibibytesAreRead(t *testing.T) {
	line := "rm a; # " + strings.Repeat("x", 64<<10-8)
	require.Equal(t, "run:rm_a write:a", written(effectsOf(command.Command{Line: line})))
	effects := effectsOf(command.Command{Line: line + "x"})
	require.Equal(t, anything, written(effects[len(effects)-3:]))
}

// What is left of a value with up to 1024 bytes is worked out. Nothing is worked
// out of a longer one.
func TestValuesOfOneKibibyteAreCut(t *testing.T) {
	value := strings.Repeat("a", 1023)
	of := func(value string) []model.Effect {
		return effectsOf(command.Command{Line: "f=" + value + "; deploy ${f#a}"})
	}
	longest := of(value + "b")
	require.Contains(t, longest[len(longest)-1].Argv, value[1:]+"b")
	require.NotContains(t, written(longest), anything)
	longer := written(of(value + "bb"))
	require.True(t, strings.HasSuffix(longer, anything))
	require.NotContains(t, longer, "_"+value[1:]+"bb")
}

// A line with a control character is not one of which it is certain what runs.
func TestControlCharactersMakeLinesUncertain(t *testing.T) {
	for text, certain := range map[string]bool{
		"\t": true, "\n": true, "a": true, "\u0080": true,
		"\x01": false, "\x1f": false, "\x7f": false, "\x1b": false,
	} {
		effects := effectsOf(command.Command{Line: "rm 'a" + text + "b'"})
		assert.Equal(t, certain, effects[0].Kind == model.EffectRun, "%q", text)
	}
}

// What escapes between $' and ' stand for, as bash reads them.
func TestCharactersThatEscapesStandFor(t *testing.T) {
	for text, want := range map[string]string{
		`a\nb\tc\qd`: "a\nb\tcqd",
		`\351`:       "\xe9", `\1014`: "A4", `\107`: "G", `\6a`: "\x06a", `\18`: "\x018", `\7`: "\x07",
		`\x414`: "A4", `\x6a`: "j", `\x6A`: "j", `\x6f`: "o", `\x6F`: "o", `\x69`: "i", `\x60`: "`",
		`\x6g`: "\x06g", `\x6G`: "\x06G", `\x6@`: "\x06@", "\\x6`": "\x06`", `\x6:`: "\x06:",
		`\x6/`: "\x06/", `\x6!`: "\x06!", `\xe9`: "\xe9",
		`\u00414`: "A4", `\u00e9`: "é", `\U000000414`: "A4", `\U0001f600`: "😀",
		`\U7fffffff`: "\ufffd", `\U80000000`: "\ufffd",
	} {
		effects := effectsOf(command.Command{Line: "deploy $'" + text + "'"})
		require.NotEmpty(t, effects)
		require.Equal(t, []string{"deploy", text, want, "$" + text, "$" + want}, effects[0].Argv)
	}
	words := effectsOf(command.Command{Line: `deploy $X'a\'`})[0].Argv
	require.Equal(t, []string{"deploy", `a\`, `…a\`}, words, "nothing follows the backslash")
}

// Lines in lines count in commands that no shell reads, too: with a fourth one, a command may do
// anything. On Windows nothing is known of lines, and no path is the root.
func TestCommandsWithoutAShellMayDoAnything(t *testing.T) {
	line := "rm a"
	for range 4 {
		line = deeper["an argument"](line)
	}
	c := command.Command{Args: []string{"sh", "-c", line}, Dir: "/repo"}
	require.Contains(t, written(command.Effects(c, command.Place{})), anything)
	require.NotContains(t, written(command.Effects(c, command.Place{Windows: true})), anything)
	hosts := command.Command{Dir: "/repo"}
	for i := range 600 {
		hosts.Line += fmt.Sprintf(" https://h%d.example/", i)
	}
	effects := command.Effects(hosts, command.Place{Windows: true})
	require.Len(t, effects, 500)
	require.Equal(t, anything, written(effects[497:]))
}

// Nothing lies in a place whose directory cannot be told.
func TestNothingIsInsideADirectoryThatIsGone(t *testing.T) {
	p := project(t)
	gone := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Symlink("/nonexistent/x", gone))
	p.Roots = []string{gone, p.Roots[0]}
	c := command.Command{Line: "cat a.txt", Dir: p.Roots[1]}
	require.Equal(t, "cat", command.ScopeOf(c, p).Scope)
	c.Line = "cat /etc/passwd"
	require.Empty(t, command.ScopeOf(c, p).Covers)
}

// A command may use the variables that it is given.
func TestVariablesOfTheEnvironmentHaveTheirValues(t *testing.T) {
	c := command.Command{Line: "deploy $A", Env: []string{"A=.env"}}
	require.Equal(t, "unknown:deploy_.env", written(effectsOf(c)))
}

// A word between $' and ' is one that a shell works out, so no rule has it.
func TestPatternsHaveNoEscapesOfBash(t *testing.T) {
	words, err := command.Pattern(`deploy 'a b' \c |& tee`)
	require.NoError(t, err)
	require.Equal(t, [][]string{{"deploy", "a b", "c"}, {"tee"}}, words)
	_, err = command.Pattern(`deploy $'a' |& tee`)
	require.ErrorContains(t, err, "it has a word that a shell would work out")
}

// To git, "@" is the commit that is checked out. To other programs it is a file.
func TestTheCommitThatIsCheckedOut(t *testing.T) {
	p := project(t)
	for words, want := range map[string]string{
		"git show @": "git show", "git show @~2": "git show", "git diff @": "git diff",
		"git show @x": "", "git show @~/../x": "", "cat @": "", "cat @~2": "",
	} {
		s := command.ScopeOf(args(p, strings.Fields(words)...), p)
		require.Equal(t, want != "", len(s.Covers) > 0, words)
		require.True(t, strings.HasPrefix(s.Scope, want), words)
	}
}

// The table of named scopes tells which programs take a number for an option, as in "head -5".
func TestProgramsThatTakeNumbersForOptions(t *testing.T) {
	var programs []string
	for _, r := range command.Table() {
		if r.Options["-#"] == "number" {
			programs = append(programs, strings.Join(r.Words, " "))
		}
	}
	require.Contains(t, programs, "head")
	require.NotContains(t, programs, "cat")
}
