// SPDX-License-Identifier: Apache-2.0

package lsptoolset_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

var project = files{
	"a.toy":       "def start\n  run run\n  other\ndef run\n  text 😀 start\n",
	"sub/b.toy":   "def other\r\n  😀 run\r\n",
	"sub/c.toy":   "def run2\n",
	"sub/c.txt":   "run\n",
	"big/d.toy":   strings.Repeat("  many\n", 250) + "def many\n",
	"twice/x.toy": "def same\n",
	"twice/y.toy": "def same\n",
}

func TestNavigation(t *testing.T) {
	for _, mode := range []string{"good", "utf-8"} {
		t.Run(mode, func(t *testing.T) {
			b := newBench(t, fakeConfig(t, mode), lsptoolset.Options{}, project)
			require.Equal(
				t,
				"a.toy:\n1 function start\n4 function run",
				b.call("find_symbols", `{"path":"a.toy"}`).Text,
			)
			require.Equal(t, []string{"Start the language server fake"}, b.asks())
			require.Equal(
				t,
				"a.toy:4: def run\n\n"+`"def start\n  run run\n  other\ndef run\n  text 😀 start\n"`,
				b.call("find_definition", `{"symbol":"run"}`).Text,
			)
			require.Equal(
				t,
				"a.toy:4: def run\n\n"+`"def other\r\n  😀 run\r\n"`,
				b.call("find_definition", `{"symbol":"sub/b.toy:2 run"}`).Text,
			)
			require.Equal(
				t,
				"a.toy:2: run run\nsub/b.toy:2: 😀 run",
				b.call("find_references", `{"symbol":"run"}`).Text,
			)
			require.Equal(
				t,
				"run (function) a.toy:4\nrun2 (function) sub/c.toy:1",
				b.call("find_symbols", `{"query":"run"}`).Text,
			)
			require.Equal(
				t,
				"run2 (function) sub/c.toy:1",
				b.call("find_symbols", `{"query":"run","path":"sub"}`).Text,
			)
			require.Empty(t, b.asks(), "the server is asked about once")
		})
	}
}

func TestNames(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	b.write("my files/d.toy", "x run\n")
	for args, want := range map[string]string{
		`{"symbol":"same"}`:                                                         "same may be several symbols. Give more of the name, or the path and line of one:\n  same (function) twice/x.toy:1\n  same (function) twice/y.toy:1",
		`{"symbol":"missing"}`:                                                      "There is no symbol missing.",
		`{"symbol":"missing","path":"sub"}`:                                         "There is no symbol missing in sub.",
		`{"symbol":"missing","path":"a.toy"}`:                                       "missing is not in a.toy.",
		`{"symbol":"sta","path":"a.toy"}`:                                           "sta is not in a.toy. Similar names: start",
		`{"symbol":"run","path":"a.toy","line":3}`:                                  "Line 3 of a.toy does not mention run. It is: other",
		`{"symbol":"run","path":"a.toy","line":300}`:                                "a.toy has 6 lines.",
		`{"symbol":"run","path":"none.toy"}`:                                        "Could not read none.toy: not found.",
		`{"symbol":"run","path":"../none.toy"}`:                                     "Could not read ../none.toy: the path lies outside of the working directory. Use a path inside " + b.dir + ".",
		`{"symbol":"run","path":"sub/c.txt"}`:                                       "There is no language server for sub/c.txt.",
		`{"symbol":"run","kind":"implementations"}`:                                 "The language server fake cannot do this.",
		`{"symbol":"text","path":"a.toy"}`:                                          "The language server knows no definition of text.",
		`{"symbol":"my files/d.toy:1 run"}`:                                         "a.toy:4: def run",
		`{"symbol":"run(int)"}`:                                                     "a.toy:4: def run",
		`{"symbol":"run","path":"a.toy","line":2}`:                                  "a.toy:4: def run",
		`{"symbol":"Run","path":"a.toy"}`:                                           "a.toy:4: def run",
		`{"symbol":"x.run","path":"a.toy"}`:                                         "a.toy:4: def run",
		`{"symbol":"(*x[y]).run","path":"a.toy:2"}`:                                 "a.toy:4: def run",
		`{"symbol":"same","path":"twice/x.toy"}`:                                    "twice/x.toy:1: def same\ntwice/y.toy:1: def same",
		`{"symbol":"run","path":"a.toy","body":true}`:                               "a.toy:4: def run\n     4\tdef run",
		`{"symbol":"run","path":"file://` + filepath.ToSlash(b.dir) + `/a.toy#L2"}`: "a.toy:4: def run",
	} {
		res := b.call("find_definition", args)
		text, _, _ := strings.Cut(res.Text, "\n\n")
		require.Equal(t, want, text, args)
	}
	_, err := b.try("find_definition", `{"symbol":"..."}`)
	require.ErrorContains(t, err, "is not the name of a symbol")
	_, err = b.try("find_definition", `{"symbol":"run","line":4}`)
	require.ErrorContains(t, err, "give the path")
	_, err = b.try("find_symbols", `{}`)
	require.ErrorContains(t, err, "query: required")
}

// Servers that are known have ways of their own to search for names, and to name what they find:
// gopls puts the package before what is at the top.
func TestNamesInServersThatAreKnown(t *testing.T) {
	for _, server := range []string{"gopls", "typescript-language-server", "fake"} {
		c := fakeConfig(t, "good")
		c.Servers[0].Name = server
		b := newBench(t, c, lsptoolset.Options{Trust: true}, files{"a.toy": "def x.twin\ndef y.z.twin\ndef x.one\n"})
		got := b.call("find_definition", `{"symbol":"twin"}`).Text
		if server == "gopls" {
			require.Contains(t, got, "a.toy:1: def x.twin\n")
			require.Contains(t, got, "Others of this name: y.z.twin (function) a.toy:2")
		} else {
			require.Contains(t, got, "twin may be several symbols.", server)
		}
		names := map[string]string{
			"x.twin": "a.toy:1: def x.twin", "z.twin": "a.toy:2: def y.z.twin", "one": "a.toy:3: def x.one",
		}
		if server == "gopls" { // others may not know it yet
			names["y.one"] = "There is no symbol y.one."
		}
		for name, want := range names {
			require.Contains(t, b.call("find_definition", `{"symbol":"`+name+`"}`).Text, want, server)
		}
	}
}

func TestPages(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	var all []string
	for _, offset := range []string{"0", "100", "200"} {
		res := b.call("find_references", `{"symbol":"many","offset":`+offset+`}`)
		lines := strings.Split(res.Text, "\n")
		all = append(all, lines[:len(lines)-1]...)
		require.Contains(t, lines[len(lines)-1], " of 250 references", offset)
	}
	require.Len(t, all, 250)
	require.Equal(t, "big/d.toy:1: many", all[0])
	require.Equal(t, "big/d.toy:250: many", all[249])
	require.Equal(
		t,
		"[There are 250 references.]",
		b.call("find_references", `{"symbol":"many","offset":250}`).Text,
	)
}

// Definitions come in pages, too.
func TestPagesOfDefinitions(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, files{
		"all.toy": strings.Repeat("def many\n", 150), "use.toy": "many\n",
	})
	var all []string
	for _, offset := range []string{"0", "100"} {
		text := b.call("find_definition", `{"symbol":"use.toy:1 many","offset":`+offset+`}`).Text
		lines := strings.Split(text, "\n")
		all = append(all, lines[:len(lines)-1]...)
	}
	require.Len(t, all, 150)
	require.Equal(t, "all.toy:150: def many", all[149])
}

// Surfaces are told what a call is about, and editors can follow.
func TestCallsHaveTitlesAndLocations(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	b.call("find_references", `{"symbol":"run"}`)
	var shown []*view.Entity
	for _, e := range b.host.Events() {
		shown = append(shown, e.(view.Change).Entity)
	}
	require.Len(t, shown, 2)
	require.Equal(t, "References to run", shown[0].Title, "while the server is started")
	require.Empty(t, shown[0].Locations)
	require.Equal(t, "References to run", shown[1].Title)
	require.Equal(t, []view.Location{
		{
			Path: filepath.Join(b.dir, "a.toy"),
			Line: 2,
		}, {Path: filepath.Join(b.dir, "a.toy"), Line: 2}, {Path: filepath.Join(b.dir, "sub", "b.toy"), Line: 2},
	}, shown[1].Locations)
}

func TestMissingServersAreNamed(t *testing.T) {
	c := fakeConfig(t, "good")
	c.Servers[0].Command = []string{"no-such-language-server"}
	b := newBench(t, c, lsptoolset.Options{}, project)
	require.Empty(t, b.servers.Installed())
	res := b.call("find_definition", `{"symbol":"run"}`)
	require.Equal(
		t,
		"No language server is installed for this project. The user can install one:\nfake: make fake",
		res.Text,
	)
	require.Equal(t, model.OutcomeFailed, res.Outcome)
	res = b.call("find_symbols", `{"path":"a.toy"}`)
	require.Equal(
		t,
		"The language server fake is not installed. The user can install it with: make fake",
		res.Text,
	)
	require.Empty(t, b.asks())

	c.Servers[0].Install, c.Servers[0].Files = "", map[string]string{".TOY": "toy"}
	b = newBench(t, c, lsptoolset.Options{}, project)
	require.Equal(
		t,
		"The language server fake is not installed.",
		b.call("find_symbols", `{"path":"a.toy"}`).Text,
		"the case of an extension does not matter",
	)
	require.Equal(t, map[string]string{".TOY": "toy"}, c.Servers[0].Files, "the caller's map stays")
}

// The question says what is started, and its scope is the server and the project.
func TestStartIsAskedAboutOnce(t *testing.T) {
	c := fakeConfig(t, "good")
	b := newBench(t, c, lsptoolset.Options{}, project)
	b.deny = func(*toolsetApproval) bool { return true }
	_, err := b.try("find_symbols", `{"path":"a.toy"}`)
	require.ErrorIs(t, err, errDenied)
	require.Empty(t, b.servers.Status(), "nothing runs")
	a := b.asked[0]
	require.Equal(t, "lsp:fake:"+b.dir, a.Scope)
	require.Equal(t, c.Servers[0].Command, a.Preview[0].Command.Args)
	require.Equal(
		t,
		[]model.Effect{
			{Kind: model.EffectRun, Argv: c.Servers[0].Command, Dir: b.dir, Env: c.Servers[0].Env},
		},
		a.Effects,
	)
	b.deny = nil
	b.call("find_symbols", `{"path":"a.toy"}`)
	require.Equal(
		t,
		[]lsptoolset.Status{{Server: "fake", Dir: b.dir, State: lsptoolset.StateReady}},
		b.servers.Status(),
	)
}

func TestConformance(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true}, project)
	toolsettest.Conformance(t, func() toolsetOf { return b.set }, b.session,
		toolsettest.Case{Tool: "find_symbols", Args: `{"path":"a.toy"}`},
		toolsettest.Case{Tool: "find_definition", Args: `{"symbol":"run"}`},
		toolsettest.Case{Tool: "get_diagnostics", Args: `{"path":"a.toy"}`})
}

// Runs without files get no tools, and those that cannot write get those that only read.
func TestOffer(t *testing.T) {
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{}, project)
	names := func(s *workspace.Session, o lsptoolset.Options) (all []string) {
		set := lsptoolset.Tools(
			b.servers,
			func(s *workspace.Session) *workspace.Session { return s },
			o,
		)
		for _, tool := range toolsIn(t, set, s) {
			all = append(all, tool.Def.Name)
		}
		return all
	}
	reading := []string{"find_symbols", "find_definition", "find_references", "get_diagnostics"}
	require.Equal(t, reading, names(b.session, lsptoolset.Options{ReadOnly: true}))
	require.Equal(
		t,
		append(reading, "rename_symbol", "edit_symbol", "code_actions"),
		names(b.session, lsptoolset.Options{}),
	)
	require.Empty(t, names(nil, lsptoolset.Options{}))
}

// A name that one symbol at the top has means that one. Answers, and the user's question, name the
// others.
func TestNamesMeanWhatIsAtTheTop(t *testing.T) {
	const others = "[This is run (function) a.toy:2. Others of this name: outer.run (function) a.toy:1]"
	b := newBench(t, fakeConfig(t, "good"), lsptoolset.Options{Trust: true, Budget: -1}, files{
		"a.toy": "def outer.run\ndef run\n  run\n", "b.toy": "def x.twin\ndef y.twin\n",
	})
	for _, where := range []string{`"path":"a.toy"`, `"path":"."`} {
		defined := b.call("find_definition", `{"symbol":"run",`+where+`}`).Text
		require.Contains(t, defined, "a.toy:2: def run\n")
		require.Contains(t, defined, others)
		used := b.call("find_references", `{"symbol":"run",`+where+`}`).Text
		require.Equal(t, "a.toy:3: run\n"+others, used)
		defined = b.call("find_definition", `{"symbol":"outer.run",`+where+`}`).Text
		require.NotContains(t, defined, "Others")
	}
	require.Contains(t, b.call("find_definition", `{"symbol":"twin"}`).Text,
		"twin may be several symbols. Give more of the name, or the path and line of one:\n"+
			"  x.twin (function) b.toy:1\n  y.twin (function) b.toy:2")
	b.asks()
	b.call("rename_symbol", `{"symbol":"run","new_name":"walk"}`)
	require.Equal(t, strings.Trim(others, "[]")+".", b.asked[0].Preview[1].Text)
	require.Equal(t, "def outer.run\ndef walk\n  walk\n", b.read("a.toy"))
	b.write("a.toy", "def outer.run\ndef run\n")
	b.call("edit_symbol", `{"path":"a.toy","symbol":"run","line":1,"where":"replace","text":""}`)
	require.Equal(t, "def run\n", b.read("a.toy"), "the line decides")
}

// Callers are those of the function of a name, if a type has it, too.
func TestCallersAreOfFunctions(t *testing.T) {
	b := newBench(t, fakeConfig(t, "knows calls"), lsptoolset.Options{Trust: true, Budget: -1}, files{
		"a.toy": "def Tea\ndef x.Tea\n x.Tea\n", "b.toy": "def Toe\ndef x.Toe\ndef y.Toe\n",
	})
	for _, symbol := range []string{"Tea", "x.Tea"} {
		text := b.call("find_references", `{"symbol":"`+symbol+`","path":"a.toy","kind":"callers"}`).Text
		require.Contains(t, text, "a.toy:3: x.Tea [in x.Tea]")
		require.Equal(t, symbol == "Tea", strings.Contains(text,
			"[This is x.Tea (function) a.toy:2. Others of this name: Tea (class) a.toy:1]"))
	}
	text := b.call("find_references", `{"symbol":"Toe","path":"b.toy","kind":"callers"}`).Text
	require.Equal(t, "The language server answered with an error: not a function", text)
}
