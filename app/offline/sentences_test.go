// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/offline"
)

// everyTool is what an editor with everything is offered, and the tools of checkpoints.
var everyTool = []string{
	"read_file", "write_file", "edit_file", "list_files", "search_files", "run_command", "get_terminal_output", "wait_for_terminal_exit",
	"kill_terminal", "release_terminal", "list_changes", "undo_changes",
}

// answers are what the tools of these tests say.
func answer(p model.Part) string {
	switch p.Tool {
	case "read_file":
		return "one\ntwo\ntwo\n"
	case "list_files":
		return "docs/\ngo.mod\nmain.go\n"
	case "edit_file":
		return "Edited a.txt. Lines 1 to 1 are now:\n     1\tx"
	case "run_command":
		return "ok\n[exit code 0]"
	case "undo_changes":
		return "Restored a.txt.\nTo redo, call undo_changes with checkpoint 7."
	}
	return "done"
}

// carryOut has a request carried out and returns the calls, as "tool {json}", and what the model said.
func carryOut(t *testing.T, request string, earlier ...*model.Message) (calls []string, said string, messages []*model.Message) {
	t.Helper()
	var defs []model.ToolDef
	for _, name := range everyTool {
		defs = append(defs, model.ToolDef{Name: name})
	}
	messages = append(earlier[:len(earlier):len(earlier)], model.UserText(request))
	for range 30 {
		m, err := offline.New(offline.Config{}).Generate(t.Context(), &model.Request{Messages: messages, Tools: defs}, nil)
		require.NoError(t, err)
		messages = append(messages, m)
		said += m.Text()
		if !m.HasToolCalls() {
			return calls, said, messages
		}
		results := &model.Message{Kind: model.KindRequest}
		for _, p := range m.Parts {
			if p.Kind == model.PartToolCall {
				calls = append(calls, p.Tool+" "+string(p.Args))
				results.Parts = append(results.Parts, model.ToolReturn(p.CallID, p.Tool, answer(p)))
			}
		}
		messages = append(messages, results)
	}
	t.Fatalf("%q does not end", request)
	return nil, "", nil
}

func runs(lines ...string) (calls []string) {
	for _, l := range lines {
		raw, _ := json.Marshal(map[string]string{"command": l})
		calls = append(calls, "run_command "+string(raw))
	}
	return calls
}

func edits(path string, pairs ...string) (calls []string) {
	for i := 0; i < len(pairs); i += 2 {
		calls = append(calls, fmt.Sprintf(`edit_file {"path":%q,"edits":[{"old_text":%q,"new_text":%q,"replace_all":true}]}`, path, pairs[i], pairs[i+1]))
	}
	return calls
}

func reads(paths ...string) (calls []string) {
	for _, p := range paths {
		calls = append(calls, fmt.Sprintf(`read_file {"path":%q}`, p))
	}
	return calls
}

func writes(path, content string) []string {
	return []string{fmt.Sprintf(`write_file {"path":%q,"content":%q}`, path, content)}
}

func joined(lists ...[]string) (all []string) {
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}

var (
	listed = []string{`list_files {"path":"."}`}
	undoes = []string{`undo_changes {}`}
)

// understood are requests and the calls that they are.
var understood = map[string][]string{
	// Commands.
	"run the tests":                          joined(listed, runs("go test ./...")),
	"Run the tests, please.":                 joined(listed, runs("go test ./...")),
	"please run all tests":                   joined(listed, runs("go test ./...")),
	"run tests":                              joined(listed, runs("go test ./...")),
	"run the test suite again":               joined(listed, runs("go test ./...")),
	"test the project":                       joined(listed, runs("go test ./...")),
	"test":                                   joined(listed, runs("go test ./...")),
	"can you run my tests?":                  joined(listed, runs("go test ./...")),
	"execute the unit tests":                 joined(listed, runs("go test ./...")),
	"go test ./...":                          runs("go test ./..."),
	"go vet":                                 runs("go vet"),
	"go test -run TestX ./a":                 runs("go test -run TestX ./a"),
	"git status":                             runs("git status"),
	"git status?":                            runs("git status"),
	"git diff HEAD~1":                        runs("git diff HEAD~1"),
	`git commit -m "fix, then run"`:          runs(`git commit -m "fix, then run"`),
	"npm run build":                          runs("npm run build"),
	"npm test":                               runs("npm test"),
	"cargo build --release":                  runs("cargo build --release"),
	"python3 script.py --x=1":                runs("python3 script.py --x=1"),
	"make":                                   runs("make"),
	"make check":                             runs("make check"),
	"./configure":                            runs("./configure"),
	"./run.sh -v":                            runs("./run.sh -v"),
	"ls -la":                                 runs("ls -la"),
	"cat a.txt | wc -l":                      runs("cat a.txt | wc -l"),
	"grep -rn foo .":                         runs("grep -rn foo ."),
	"find . -name '*.go'":                    runs("find . -name '*.go'"),
	"echo hello":                             runs("echo hello"),
	"pwd":                                    runs("pwd"),
	"go build && go test":                    runs("go build && go test"),
	"git status, then go test ./...":         runs("git status", "go test ./..."),
	"go vet ./... and run the tests":         joined(runs("go vet ./..."), listed, runs("go test ./...")),
	"run make and make install":              runs("make", "make install"),
	"run go test ./... and then go vet":      runs("go test ./...", "go vet"),
	"run sleep 60":                           runs("sleep 60"),
	"run `echo this and that`":               runs("echo this and that"),
	`run "echo a; echo b" please`:            runs("echo a; echo b"),
	"$ ls .":                                 runs("ls ."),
	"execute the command go version.":        runs("go version"),
	"run go test ./...\nrun go vet ./...":    runs("go test ./...", "go vet ./..."),
	"1. git status\n2. read a.txt":           joined(runs("git status"), reads("a.txt")),
	"Can you please run go build ./cmd/...?": runs("go build ./cmd/..."),

	// Files.
	"read a.txt":                                               reads("a.txt"),
	"read a.txt again":                                         reads("a.txt"),
	"show me the file a.txt, please":                           reads("a.txt"),
	"read a.txt and b.txt":                                     reads("a.txt", "b.txt"),
	"what does a.txt say?":                                     reads("a.txt"),
	"show lines 2-3 of a.txt":                                  {`read_file {"path":"a.txt","line":2,"limit":2}`},
	"read file:///a/b.go#L2:3":                                 {`read_file {"path":"file:///a/b.go#L2:3"}`},
	"read the first 5 lines of a.txt":                          {`read_file {"path":"a.txt","limit":5}`},
	"list files":                                               listed,
	"list all files in docs":                                   {`list_files {"path":"docs"}`},
	"list *.go in cmd":                                         {`list_files {"path":"cmd","pattern":"*.go"}`},
	"what files are there?":                                    listed,
	"find files named *_test.go in internal":                   {`list_files {"path":"internal","pattern":"*_test.go"}`},
	"search TODO":                                              {`search_files {"pattern":"TODO","literal":true,"path":"."}`},
	`search for "a, then b" in src`:                            {`search_files {"pattern":"a, then b","literal":true,"path":"src"}`},
	"where is NewServer defined?":                              {`search_files {"pattern":"NewServer","literal":true,"path":"."}`},
	"search main.go for TODO":                                  {`search_files {"pattern":"TODO","literal":true,"path":"main.go"}`},
	"find all uses of NewServer in main.go":                    {`search_files {"pattern":"NewServer","literal":true,"path":"main.go"}`},
	"replace foo with bar in a.txt":                            edits("a.txt", "foo", "bar"),
	"change foo to bar in a.txt":                               edits("a.txt", "foo", "bar"),
	"in a.txt, replace foo with bar":                           edits("a.txt", "foo", "bar"),
	`replace "x y" with "z" in a.txt everywhere`:               edits("a.txt", "x y", "z"),
	"rename oldName to newName in a.go":                        edits("a.go", "oldName", "newName"),
	"replace foo with nothing in a.txt":                        edits("a.txt", "foo", ""),
	`remove "foo" from a.txt`:                                  edits("a.txt", "foo", ""),
	"replace the first two with 2 in a.txt":                    {`read_file {"path":"a.txt"}`, `edit_file {"path":"a.txt","edits":[{"old_text":"two\ntwo\n","new_text":"2\ntwo\n"}]}`},
	`append "three" to a.txt`:                                  {`read_file {"path":"a.txt"}`, `edit_file {"path":"a.txt","edits":[{"old_text":"two\ntwo\n","new_text":"two\ntwo\nthree\n"}]}`},
	`add "three" to the end of a.txt`:                          {`read_file {"path":"a.txt"}`, `edit_file {"path":"a.txt","edits":[{"old_text":"two\ntwo\n","new_text":"two\ntwo\nthree\n"}]}`},
	"create notes.txt with hello":                              writes("notes.txt", "hello\n"),
	"create a file notes.txt with \"hello\"":                   writes("notes.txt", "hello\n"),
	"create an empty file called notes.txt":                    writes("notes.txt", ""),
	"create hello.py:\n```py\nprint('hello')\n```":             writes("hello.py", "print('hello')\n"),
	`write "print('hello')" to hello.py`:                       writes("hello.py", "print('hello')\n"),
	"write hello world to a.txt":                               writes("a.txt", "hello world\n"),
	"read a.txt, replace foo with bar in it and run the tests": joined(reads("a.txt"), edits("a.txt", "foo", "bar"), listed, runs("go test ./...")),

	// Tools.
	`use list_files {"pattern": "*.go"}`:                                          {`list_files {"pattern":"*.go"}`},
	"use `list_files {\"pattern\": \"*.go\"}`":                                    {`list_files {"pattern":"*.go"}`},
	"use `list_files` {\"pattern\": \"a, then read b\"}":                          {`list_files {"pattern":"a, then read b"}`},
	`call kill_terminal {"terminal_id":"terminal-1"}`:                             {`kill_terminal {"terminal_id":"terminal-1"}`},
	"use the tool list_changes":                                                   {`list_changes {}`},
	`use list_changes with {"checkpoint": 2}, then read a.txt`:                    joined([]string{`list_changes {"checkpoint":2}`}, reads("a.txt")),
	`list_changes {"checkpoint": 2}`:                                              {`list_changes {"checkpoint":2}`},
	`use edit_file {"path":"a","edits":[{"old_text":"{","new_text":"}"}]} please`: {`edit_file {"path":"a","edits":[{"old_text":"{","new_text":"}"}]}`},

	// Undo.
	"undo":                        undoes,
	"Undo that, please.":          undoes,
	"undo your last changes":      undoes,
	"revert the last change":      undoes,
	"take that back":              undoes,
	"undo, then run the tests":    joined(undoes, listed, runs("go test ./...")),
	"undo and then redo":          {`undo_changes {}`, `undo_changes {"checkpoint":7}`},
	"please undo what you did":    undoes,
	"could you undo it for me?":   undoes,
	"read a.txt; undo; redo that": joined(reads("a.txt"), []string{`undo_changes {}`, `undo_changes {"checkpoint":7}`}),
}

func TestUnderstoodSentences(t *testing.T) {
	require.Greater(t, len(understood), 90)
	for sentence, want := range understood {
		calls, said, _ := carryOut(t, sentence)
		require.Equal(t, want, calls, "%q; it said: %s", sentence, said)
	}
}

// refused are requests of which a part is not understood.
var refused = []string{
	"create a:\n```go\nx\n```", "create a:\n```go*x\n```", "read ```\na.txt\n```", "create \"\" with \"x\"", "append x to \"a\nb\"",
	"create a file hello.py that prints hello", "create hello.py which prints hello", "create a function that adds numbers", "create hello.py with a function that prints hello",
	"write unit tests for main.go", "write unit tests to main_test.go", "write a poem to poem.txt", "create tests", "create main.go with tests", "create a.txt with 3 lines of text",
	"add error handling to main.go", "add a test to main_test.go", "append a summary of b.txt to a.txt", "save it",
	"run the linter", "run the server in the background", "run it", "run", "run everything", "run the tests in src", "run the tests twice", "run the tests and fix what fails",
	"run go test in src", "run go test with coverage", "run go test if main.go exists", "go ahead and fix it", "go to the file main.go", "make it faster", "make sure that it works",
	"make changes", "git status and explain it", "don't run go test", "do not read a.txt", "never run go test", "if go vet is happy, run go test",
	"read a.txt and summarize it", "read a.txt and explain", "read the code", "read a.txt carefully", "read all of it twice", "explain main.go", "read a.txt unless b.txt exists",
	"list files modified today", "list the largest files", "list files in a and in b", "find the bug", "find bugs and fix them", "search for the largest file", "search foo and bar",
	"find out why the tests fail", "where is the config file", "where are my keys", "search TODO in src and in lib quickly",
	"replace foo with bar", "replace foo and bar with baz in a.txt", "replace the function with a loop in a.go", "replace line 5 with x in a.txt", "replace foo in a.txt",
	"rename a.txt to b.txt", "read a.txt, then rename a.txt to b.txt", "change the colour to blue", "remove foo from a.txt", "remove all comments from main.go", "delete a.txt",
	"remove line 3 from a.txt", "replace foo with bar in a.txt but not in comments", `replace "a" "b" with "c" in a.txt`, `create a.txt with "x" and y`,
	"use foo", "use the force", "use list_files {bad}", "use list_files [1]", "use list_files {} carefully", "use the faster algorithm", "undo everything", "undo the change in a.txt",
	"revert", "revert main.go", "take that", "redo the tests", "help me with main.go", "wait until tomorrow", "wait 99999999999 seconds", "what is the meaning of life?", "frobnicate",
	"hello Bob", "in a.txt", "again and again", "try harder", "read a.txt then frobnicate it", "frobnicate; read a.txt", "thanks, but read a.txt backwards",
}

// requireRefusal checks the two lines of a refusal.
func requireRefusal(t *testing.T, said, request string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(said, "\n"), "\n")
	require.Len(t, lines, 2, "%q: %s", request, said)
	require.True(t, strings.HasPrefix(lines[0], "I am the offline demo model, a few rules and no intelligence, and have done nothing: "), "%q: %s", request, said)
	require.Equal(t, "Say `help` to see what I understand, or start the agent with a real model, such as `-model openai:NAME` or `-model ollama:NAME`.", lines[1])
	require.Less(t, len(lines[0]), 400, "%q", request)
}

func TestRefusedSentences(t *testing.T) {
	require.Greater(t, len(refused), 80)
	for _, sentence := range refused {
		calls, said, _ := carryOut(t, sentence)
		require.Empty(t, calls, "%q; it said: %s", sentence, said)
		requireRefusal(t, said, sentence)
	}
}

func TestRefusalNamesWhatIsNotUnderstood(t *testing.T) {
	for sentence, want := range map[string]string{
		"create a file hello.py that prints hello":  "I did not understand `that prints hello`. Say what to write in quotes: `` create hello.py with \"TEXT\" ``",
		"read a.txt and then frobnicate the bits":   "I did not understand `frobnicate the bits`.",
		"list files modified today":                 "I did not understand `modified today`.",
		"run the linter":                            "which command should I run? Put the whole of it in backquotes: run `go test ./...`.",
		"create main.go with a function for sums":   "I cannot make up `a function for sums`. Put the text in quotes: `create main.go with \"TEXT\"`.",
		"replace foo with bar":                      "in which file should I replace `foo`?",
		"use list_files {bad}":                      "the arguments of `list_files` are not a JSON object: `{bad}`.",
		"delete a.txt":                              "I cannot delete files.",
		"read a.txt\nexplain\nit":                   "I did not understand `explain`.",
		"wait 2 hours and 5 seconds before reading": "I did not understand",
		"undo that back":                            "I can undo the last changes only; I did not understand `that back`.",
		"take the last change out":                  "I did not understand `take the last change out`.",
	} {
		_, said, _ := carryOut(t, sentence)
		require.Contains(t, strings.ReplaceAll(said, "`` create hello.py with \"TEXT\" ``", "`create hello.py with \"TEXT\"`"), strings.ReplaceAll(want, "`` create hello.py with \"TEXT\" ``", "`create hello.py with \"TEXT\"`"), sentence)
		requireRefusal(t, said, sentence)
	}
}

// No word is dropped: a word that means nothing, put anywhere into a request, has the request refused or stands in a call.
func TestNoWordIsDropped(t *testing.T) {
	for sentence, want := range understood {
		words := strings.Fields(sentence)
		for at := range len(words) + 1 {
			for _, noise := range []string{"zzyzx", "unless", "backwards", "not", "zz.yzx", `"zzyzx"`} {
				request := strings.Join(append(append(append([]string{}, words[:at]...), noise), words[at:]...), " ")
				calls, said, _ := carryOut(t, request)
				if len(calls) == 0 && strings.Contains(said, "and have done nothing") || strings.Contains(said, "I changed nothing: there is no `"+strings.Trim(noise, `"`)) {
					continue
				}
				require.Contains(t, strings.Join(calls, "\n"), strings.Trim(noise, `"`), "%q did as %q: %v", request, sentence, want)
			}
		}
	}
}
