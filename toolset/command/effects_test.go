// SPDX-License-Identifier: Apache-2.0

package command_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset/command"
)

// written is how effects are written in the tests.
func written(effects []model.Effect) string {
	var all []string
	for _, e := range effects {
		text := string(e.Kind)
		for _, field := range []string{strings.TrimPrefix(e.Path, "/repo/"), strings.Join(e.Argv, "_"), e.Host} {
			if field != "" {
				text += ":" + field
			}
		}
		if e.Dir != "" && e.Dir != "/repo" {
			text += "@" + e.Dir
		}
		if len(e.Env) > 0 {
			text += "$" + strings.Join(e.Env, ",")
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}

func TestEffectsOfCommands(t *testing.T) {
	for line, want := range map[string]string{
		"ls":                             "run:ls",
		"cat a b":                        "run:cat_a_b read:a read:b",
		"cat /etc/passwd":                "run:cat_/etc/passwd read:/etc/passwd",
		"git status":                     "run:git_status",
		"go test ./...":                  "run:go_test_./... unknown",
		"gofmt -w a.go":                  "run:gofmt_-w_a.go unknown write:a.go",
		"grep -rn x src":                 "run:grep_-rn_x_src read:x/ read:src/",
		"rm -rf a":                       "run:rm_-rf_a write:a/",
		"cp a b":                         "run:cp_a_b read:a write:b",
		"mv a b":                         "run:mv_a_b read:a write:a write:b",
		"rm --interactive a":             "run:rm_--interactive_a unknown:rm_--interactive_a",
		"deploy now":                     "run:deploy_now unknown:deploy_now",
		"echo x > out":                   "run:echo_x write:out",
		"echo x >> a 2>&1":               "run:echo_x write:a",
		"cat < in":                       "run:cat read:in",
		"true > /dev/null":               "run:true",
		"cd sub && rm a":                 "run:cd_sub run:rm_a write:a write:sub/a",
		"rm $X":                          "unknown:rm_",
		"rm a$X":                         "unknown:rm_a_a…",
		"rm ${X}a$(y)b":                  "unknown:y unknown:rm_ab_a…b_…ab_…a…b run:y unknown:y",
		"X=a; rm ${X}b":                  "unknown:a unknown:rm_ab",
		"rm a{1..3}":                     "unknown:rm_a…_a1_a3",
		"echo x > a$X":                   "run:echo_x unknown write:a write:a…",
		"cd $X; rm a":                    "unknown:cd_ run:rm_a write:a write:a write:…/a",
		"rm a{b,c}":                      "unknown:rm_ab_ac",
		"rm $'\\x61'":                    "unknown:rm_\\x61_a_$\\x61_$a",
		"git pu\\\nsh":                   "run:git_push unknown:git_push",
		"echo $(rm a)":                   "unknown:echo_ run:rm_a write:a",
		"A=b deploy":                     "unknown:b run:deploy$A=b unknown:deploy",
		"sh -c 'rm a'":                   "run:sh_-c_rm a unknown:sh_-c_rm a run:rm_a write:a",
		"bash -xc 'sh -c \"ls\"'":        "run:bash_-xc_sh -c \"ls\" unknown:bash_-xc_sh -c \"ls\" run:sh_-c_ls unknown:sh_-c_ls run:ls",
		"eval rm a":                      "unknown:eval_rm_a run:rm_a write:a",
		"f() { rm a; }; f":               "unknown unknown:rm_a unknown:f",
		"exec rm a":                      "unknown:exec_rm_a",
		"'":                              "unknown:' read:/ write:/ unknown",
		"":                               "unknown",
		"# x":                            "unknown",
		"curl https://u:p@a.example:8/x": "run:curl_https://u:p@a.example:8/x unknown:curl_https://u:p@a.example:8/x host:a.example",
		"git config a b":                 "run:git_config_a_b write:.git/config unknown:git_config_a_b",
		"git config a":                   "run:git_config_a unknown:git_config_a",
		"a |& b":                         "unknown:a unknown:b",
		"cat ${x:-.env}":                 "unknown:cat__.env",
		"echo x > $PWD/f":                "run:echo_x unknown write:/f write:f",
		"grep --recursive x":             "run:grep_--recursive_x read:x/ read",
		"grep --dereference-recursive x": "run:grep_--dereference-recursive_x unknown:grep_--dereference-recursive_x read",
		"grep --rec x":                   "run:grep_--rec_x unknown:grep_--rec_x read",
		"tar -c src b/ -":                "run:tar_-c_src_b/_- unknown:tar_-c_src_b/_- read:src/ read:b/ read:b/",
		"cp -P a b":                      "run:cp_-P_a_b unknown:cp_-P_a_b",
		"alias ls=rm; ls":                "unknown:alias_ls=rm unknown:ls",
	} {
		assert.Equal(t, want, written(command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{})), "%q", line)
	}
	require.Equal(t, "run:rm_$X write:$X", written(command.Effects(command.Command{Args: []string{"rm", "$X"}, Dir: "/repo"}, command.Place{})), "no shell reads it")
	require.Equal(t, "run:ls$A=b unknown:ls", written(command.Effects(command.Command{Args: []string{"ls"}, Dir: "/repo", Env: []string{"A=b"}}, command.Place{})))
	require.Equal(t, "unknown:del_x", written(command.Effects(command.Command{Line: "del x", Dir: "/repo"}, command.Place{Windows: true})))
	require.Equal(t, []model.Effect{{Kind: model.EffectRun, Argv: []string{"rm", "a"}}, {Kind: model.EffectWrite, Path: "a"}}, command.Effects(command.Command{Line: "rm a"}, command.Place{}), "in an unknown directory")
}

// A line with very many commands has few effects, and says that there are more.
func TestEffectsAreBounded(t *testing.T) {
	line := strings.Repeat("cd a; cd b; rm x; $X {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}; ", 500)
	effects := command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{})
	require.LessOrEqual(t, len(effects), 500)
	require.Equal(t, model.EffectUnknown, effects[len(effects)-1].Kind)
	deep := "ls"
	for range 5 {
		deep = "sh -c '" + strings.ReplaceAll(deep, "'", `'\''`) + "'"
	}
	require.NotEmpty(t, command.Effects(command.Command{Line: deep, Dir: "/repo"}, command.Place{}))
	long := command.Effects(command.Command{Line: strings.Repeat("rm x; ", 1<<20), Dir: "/repo"}, command.Place{})
	require.Len(t, long, 4)
	require.Equal(t, "read:/ write:/ unknown", written(long[1:]), "of a line that nobody reads nothing is known")
	require.Equal(t, "read:/ write:/ unknown", written(effects[len(effects)-3:]))
	for line, more := range map[string]string{
		"deploy {a,b}{a,b}{a,b}{a,b}{a,b}":      "",
		"deploy {a,b,c}{0,1,2,3,4,5,6,7,8,9,x}": "read:/ write:/ unknown",
	} {
		words := command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{})
		require.Len(t, words[0].Argv, 1+32, "%q", line)
		require.Equal(t, more, written(words[1:]), "%q", line)
	}
}

// An option that is a part of a scope must not be turned off behind it.
func TestOptionsOfScopesAreNotTurnedOff(t *testing.T) {
	p := project(t)
	for _, r := range command.Table() {
		if !strings.HasPrefix(r.Words[len(r.Words)-1], "-") {
			continue
		}
		for _, value := range strings.Fields("false true null undefined FALSE no off 0") {
			line := strings.Join(r.Words, " ") + " " + value
			require.Empty(t, command.ScopeOf(at(p, line), p).Covers, line)
			require.Empty(t, command.ScopeOf(at(p, line+" a.txt"), p).Covers, line)
		}
	}
	require.NotEmpty(t, command.ScopeOf(at(p, "tsc --noEmit a.txt"), p).Covers)
}

// FuzzEffects checks that every command has effects.
func FuzzEffects(f *testing.F) {
	for _, line := range []string{"ls", "a | b && c > d", "$'\\x61' {a,b}", "sh -c 'sh -c \"x\"'", "cat <<x\n$(y)\nx"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		require.NotEmpty(t, command.Effects(command.Command{Line: line, Dir: "/repo"}, command.Place{}))
		_, _ = command.Pattern(line)
	})
}
