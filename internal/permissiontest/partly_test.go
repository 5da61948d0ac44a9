// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset"
)

// hidings write a text, of which %s stands for a part, so that a shell has to work that part out.
// First is what comes before the command, and word what stands in the place of the part.
var hidings = []struct {
	first, word string
	known       bool // the line itself has the part
}{
	{"f=%s; ", "${f}", true}, {"f=%s && ", "${f}", true}, {"f='%s'; ", "${f}", true}, {"export f=%s; ", "${f}", true}, {"readonly f=%s; ", "${f}", true}, {"f=x; f=%s; ", "${f}", true}, {"f=; f+=%s; ", "${f}", true},
	{"if true; then f=%s; fi; ", "${f}", true}, {"g() { f=%s; }; g; ", "${f}", true}, {"g=%s; f=$g; ", "${f}", true}, {"f=$(echo %s); ", "${f}", true}, {"f=`printf %%s %s`; ", "${f}", true},
	{"for f in x %s; do :; done; ", "${f}", true}, {"f=$'%s'; ", "${f}", true}, {"{ f=%s; } && ", "${f}", true}, {"a=%s; : ${f:=$a}; ", "${f}", true}, {"a=(x %s); ", "${a[1]}", true}, {"f=yy%s; ", "${f#yy}", true}, {"f=a/yyy%s; ", "${f##*yyy}", true}, {"f=%szz; ", "${f%%zz}", true}, {"f=%s.png; ", "${f%%.png}", true}, {"f=%s,b,c; ", "${f%%%%,*}", true}, {"f=yy%s; ", "${f:2}", true}, {"f=yy%szz; ", "${f:2:-2}", true}, {"f=yyy%sz; ", "${f:3:-1}", true}, {"f=%szz; ", "${f/zz/}", true}, {"f=yy%s; ", "${f/#yy}", true}, {"f=yy%s; ", "${f//yy/}", true}, {"f=y%szz; ", "${f:1:${#f}-3}", false},
	{"", "${f:-%s}", true}, {"", "${f-%s}", true}, {"f=1; ", "${f:+%s}", true}, {"f=x; ", "${f/x/%s}", true}, {"", "$(echo %s)", true}, {"", "`echo %s`", true}, {"", "$(printf %s)", true}, {"", "\"$(echo %s)\"", true},
	{"", "$'%s'", true}, {"", "{%s,x}", true}, {"", "{x,%s}", true}, {"", "@(%s)", true}, {"", "\"\"'%s'\"\"", true},
	{"", "$[n]", false}, {"", "${f}", false}, {"", "\"$f\"", false}, {"", "$(cat n)", false}, {"", "`cat n`", false}, {"", "\"$(cat n)\"", false}, {"read f <n; ", "${f}", false}, {"f=$(cat n); ", "${f}", false}, {"f=$(cat n); g=$f; ", "${g}", false}, {". ./n; ", "${f}", false},
	{"mapfile f <n; ", "${f[0]}", false}, {"f=x; read f <n; ", "${f}", false}, {"g() { ", "${1}", false}, {"", "${1}", false}, {"", "$((n))", false}, {"", "${f:-$(cat n)}", false}, {"", "${f%%x}", false}, {"", "${f:1:9}", false}, {"", "${!f}", false}, {"f=n; ", "${!f}", false}, {"", "+(?)", false}, {"", "{a..z}", false}, {"f=n; ", "$(<$f)", false},
	{"f=x; export \"f=%s\"; ", "${f}", true}, {"f=x; readonly 'f=%s'; ", "${f}", true}, {"f=x; export f\\=%s; ", "${f}", true}, {"f=x; n=f=%s; export $n; ", "${f}", true}, {"f=x; n=f; export $n=%s; ", "${f}", true}, {"f=x; export -- x \"f=%s\"; ", "${f}", true}, {"f=; export f+=%s; ", "${f}", true},
	{"f=x; command export f=%s; ", "${f}", true}, {"f=x; builtin declare f=%s; ", "${f}", true}, {"f=x; command -p export f=%s; ", "${f}", true}, {"f=x; declare -g \"f=%s\"; ", "${f}", true}, {"a=(x); f=x; declare \"f=%s\"; ", "${f}", true}, {"a=(x); f=x; export 'f=%s'; ", "${f}", true}, {"f=x; trap 'f=%s' DEBUG; ", "${f}", true}, {"f=x; alias g='f=%s'; g; ", "${f}", true},
	{"g=%s; f=g; ", "${!f}", true}, {"g=%s; declare -n f=g; ", "${f}", true}, {"a=(x); g=%s; typeset -n f=g; ", "${f}", true},
	{"f=x; export \"f=$(cat n)\"; ", "${f}", false}, {"f=x; export \"$(cat n)\"; ", "${f}", false}, {"f=x; export $(cat n); ", "${f}", false}, {"f=x; command read f <n; ", "${f}", false}, {"f=x; command -p read f <n; ", "${f}", false}, {"f=x; builtin read f <n; ", "${f}", false}, {"f=x; command . ./n; ", "${f}", false},
	{"f=x; printf -vf %%s \"$(cat n)\"; ", "${f}", false}, {"f=x; command printf -v f %%s \"$(cat n)\"; ", "${f}", false}, {"f=x; a=read; command $a f <n; ", "${f}", false}, {"f=x; declare -x \"f=$(cat n)\"; ", "${f}", false},
	{"eval \"$(cat n)\"; ", "${f}", false}, {"f=$((1)); ", "${f^}", false}, {"printf -v f %%s \"$(cat n)\"; ", "${f}", false}, {"for f in $(cat n); do :; done; ", "${f}", false}, {"while read f; do :; done <n; ", "${f}", false}, {"set -- \"$(cat n)\"; ", "${1}", false},
}

// writers write the file that they name, and readers read it.
var (
	writers = []string{"cp f %s", "echo x >%s", "echo x >>%s", "mv f %s", "tee %s <f", "sed -i s/a/b/ %s", "sh -c \"cp f %s\"", "dd of=%s", "ln -sf f %s", "install f %s", "curl -o %s x", "(cp f %s)", "true && cp f ./%s", "env cp f %s", "cp f sub/%s", "rm -rf %s", "exec 3>%s", "python3 x.py --out=%s"}
	readers = []string{"cat %s", "base64 <%s", "cp %s x", "sh -c \"cat %s\"", "grep . %s", "source %s", "curl -d @%s x", "python3 x.py %s", "(cat ./%s)", "cat sub/%s"}
)

// hidden puts a hiding in the place of a part of a name.
func hidden(first, word, before, part, after string) (prefix, name string) {
	fill := func(text string) string {
		text = strings.ReplaceAll(text, "%%", "\x00")
		return strings.ReplaceAll(strings.Replace(text, "%s", part, 1), "\x00", "%")
	}
	return fill(first), before + fill(word) + after
}

// Names that are known only in part are asked about if the known part fits what is protected or
// denied.
func partly(s *suite) {
	names := map[string][][3]string{ // protected names, taken apart in three, of which one is hidden
		".envrc":               {{"", ".envrc", ""}, {".env", "rc", ""}, {"", ".env", "rc"}, {".e", "nv", "rc"}, {".", "envrc", ""}},
		".bashrc":              {{"", ".bashrc", ""}, {".bash", "rc", ""}, {"", ".ba", "shrc"}, {".b", "ash", "rc"}},
		".git/config":          {{"", ".git/config", ""}, {".git/con", "fig", ""}, {".g", "it", "/config"}, {".gi", "t", "/config"}, {".git/", "config", ""}, {".git", "/", "config"}, {"", ".git/con", "fig"}},
		".git/hooks/x":         {{".git/ho", "oks", "/x"}, {".git/hooks/", "x", ""}, {".g", "it", "/hooks/x"}},
		".npmrc":               {{".npm", "rc", ""}, {"", ".np", "mrc"}, {".", "npm", "rc"}},
		".mcp.json":            {{"", ".mcp.json", ""}, {".mcp", ".js", "on"}, {"", ".mcp", ".json"}, {".mcp.", "json", ""}},
		".vscode/tasks.json":   {{".vs", "code", "/tasks.json"}, {".vscode/ta", "sks", ".json"}, {".vscode", "/tasks", ".json"}},
		"Jenkinsfile":          {{"", "Jenkinsfile", ""}, {"Jenkins", "file", ""}, {"", "Jen", "kinsfile"}, {"Jen", "kins", "file"}},
		".github/workflows/ci": {{".git", "hub", "/workflows/ci"}, {".github/work", "flows", "/ci"}, {"", ".github", "/workflows/ci"}},
		".claude/settings":     {{".cl", "aude", "/settings"}, {".cla", "ude/", "settings"}},
		"lefthook.yml":         {{"left", "hook", ".yml"}, {"lefthook", ".", "yml"}, {"", "left", "hook.yml"}},
		".ssh/authorized_keys": {{"", ".ssh/authorized_keys", ""}, {".s", "sh", "/authorized_keys"}, {".ssh/author", "ized", "_keys"}},
	}
	denied := map[string][][3]string{
		".env":     {{"", ".env", ""}, {".e", "nv", ""}, {"", ".e", "nv"}, {".", "env", ""}, {".e", "n", "v"}},
		"secret/x": {{"", "secret/x", ""}, {"sec", "ret", "/x"}, {"secret", "/", "x"}, {"secret/", "x", ""}, {"", "sec", "ret/x"}},
		"id.key":   {{"", "id.key", ""}, {"id", ".k", "ey"}, {"id.", "key", ""}, {"", "id", ".key"}},
	}
	share, whole := 17, 0 // one of so many is tried, but for the first commands
	if *everyAttack {
		share, whole = 5, 2
	}
	try := func(w *world, commands []string, names map[string][][3]string) {
		n := 0
		for name, cuts := range names {
			for _, cut := range cuts {
				for _, h := range hidings {
					if cut[0]+cut[2] == "" && !h.known {
						continue // nothing of the name is in the line
					}
					for i, c := range commands {
						if n++; (n+i)%share > 0 && i >= whole {
							continue // the others are made with other names
						}
						first, word := hidden(h.first, h.word, cut[0], cut[1], cut[2])
						line := first + strings.ReplaceAll(c, "%s", word)
						if strings.HasPrefix(first, "g() { ") && !strings.Contains(first, "}") {
							line += "; }; g " + cut[1]
						}
						w.run(line)
						s.attack(len(w.started) == 0, "%s: %q", name, line)
					}
				}
				for _, c := range commands[:3] { // the variable is in the environment of the command
					line := strings.ReplaceAll(c, "%s", cut[0]+"${f}"+cut[2])
					w.call("run_command", args{"command": line, "env": args{"f": cut[1]}})
					s.attack(len(w.started) == 0, "%s: f=%s in the environment and %q", name, cut[1], line)
				}
			}
		}
	}
	try(memory(s, map[string]string{"f": "x"}).configure(rules("auto")), writers, names)
	w := memory(s, map[string]string{"f": "x"})
	w.policy.Remember("run_command", "", toolset.VerdictAllow)
	try(w, writers[:3], names)
	for _, decision := range []string{"deny", "ask"} {
		w := memory(s, map[string]string{"f": "x"}).configure(rules("auto", fmt.Sprintf(`{"decision":%q,"read":"**/.env"},{"decision":%q,"read":"secret/**"},{"decision":%q,"read":"**/*.key"}`, decision, decision, decision)))
		try(w, readers[:9], denied)
		w = memory(s, map[string]string{"f": "x"}).configure(rules("auto", fmt.Sprintf(`{"decision":%q,"path":"**/.env"},{"decision":%q,"path":"secret/**"},{"decision":%q,"path":"**/*.key"}`, decision, decision, decision)))
		try(w, writers[:14], denied)
	}
	loud, _ := partlyTable(s)
	w = memory(s, map[string]string{"f": "x"}).configure(rules("auto", `{"decision":"deny","read":"**/.env"}`, `{"decision":"deny","path":"secret/**"}`, `{"decision":"deny","host":"*.evil.example"}`))
	for _, line := range loud {
		w.run(line)
		s.attack(len(w.started) == 0, "%q", line)
	}
	w = memory(s, map[string]string{"f": "x"}).configure(rules("auto"))
	w.call("run_command", args{"command": "cp f $f", "env": args{"f": ".envrc"}})
	s.attack(len(w.started) == 0, "the whole name is in the environment")
	for _, line := range []string{"cd $d && echo x >workflows/x", "cd \"$(cat n)\" && cp f hooks/x", "b=${a}c; a=.envr; cp x $b", "cd a; cd b; cd c; cd d; cd e; echo x >workflows/x"} {
		w.run(line)
		s.attack(len(w.started) == 0, "%q", line)
	}
	// What is beyond the bounds of a reader.
	for what, line := range map[string]string{
		"many commands":     strings.Repeat("true; ", 600) + "cp f .envrc",
		"many effects":      strings.Repeat("rm x y; ", 600) + "cp f .envrc",
		"many alternatives": "cp f {" + strings.Repeat("x,", 40) + ".envrc}",
		"many products":     "cp f {a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{.envrc,x}",
		"many values":       strings.Repeat("f=x$f; ", 40) + "f=.en; cp x ${f}vrc",
		"a long line":       "cp f .en''vrc #" + strings.Repeat("x", 70_000),
		"lines in lines":    "sh -c 'sh -c \"sh -c \\\"sh -c \\\\\\\"cp f .en\\\\\\\\''vrc\\\\\\\"\\\"\"'",
		"evals":             "eval eval eval eval eval 'cp f .en\\\\v\\\\rc'",
		"no line of a kind": "cp f .en''vrc; (",
		"many directories":  "cd a; cd b; cd c; cd d; cd e; cd .git; cp f config",
		"everything":        "rm -rf /",
	} {
		w.run(line)
		s.attack(len(w.started) == 0, "%s: %.60q", what, line)
	}
}

//go:embed testdata/partly.txt
var partlyLines string

// partlyTable returns the lines of the table that are asked about, and those that are not.
func partlyTable(t require.TestingT) (asked, quiet []string) {
	before, after, ok := strings.Cut(partlyLines, "\n----\n")
	require.True(t, ok)
	lines := func(text string) (all []string) {
		for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
			if !strings.HasPrefix(line, "#") {
				all = append(all, line)
			}
		}
		return all
	}
	return lines(before), lines(after)
}

// TestFewWordsThatAreKnownInPartAreAskedAbout is the other side of the attacks.
func TestFewWordsThatAreKnownInPartAreAskedAbout(t *testing.T) {
	_, quiet := partlyTable(t)
	w := memory(t, map[string]string{"f": "x", "sub/f": "x"}).configure(rules("auto", `{"decision":"deny","path":"secret/**"}`, `{"decision":"deny","host":"*.evil.example"}`))
	for _, line := range quiet {
		w.run(line)
		if len(w.asked) > 0 {
			t.Errorf("%q: %v", line, w.asked[0].Approval.Preview)
		}
	}
}
