// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"encoding/json"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGrammar(t *testing.T) {
	read := func(path string) step { return step{act: actRead, path: path} }
	run := func(line string) step { return step{act: actRun, command: line} }
	search := func(text, path string) step { return step{act: actSearch, text: text, path: path} }
	list := func(path, pattern string) step { return step{act: actList, path: path, pattern: pattern} }
	replace := func(a, b, path string) step { return step{act: actReplace, text: a, with: b, path: path} }
	create := func(path, text string) step { return step{act: actCreate, path: path, text: text} }
	for request, want := range map[string][]step{
		// Reading.
		"read a.txt":                                       {read("a.txt")},
		"Please show me the file a.txt.":                   {read("a.txt")},
		"could you open README?":                           {read("README")},
		"print the contents of docs/design.md":             {read("docs/design.md")},
		"what's in a.txt?":                                 {read("a.txt")},
		"What does a.txt say?":                             {read("a.txt")},
		`read "my file.txt"`:                               {read("my file.txt")},
		"read my notes.txt":                                {read("notes.txt")},
		"read a.txt and b.txt, c.txt":                      {read("a.txt"), read("b.txt"), read("c.txt")},
		"show lines 3-10 of a.txt":                         {{act: actRead, path: "a.txt", line: 3, limit: 8}},
		"read a.txt lines 3 to 10":                         {{act: actRead, path: "a.txt", line: 3, limit: 8}},
		"read a.txt from line 3 to line 10":                {{act: actRead, path: "a.txt", line: 3, limit: 8}},
		"read a.txt from line 3":                           {{act: actRead, path: "a.txt", line: 3}},
		"read line 7 of a.txt":                             {{act: actRead, path: "a.txt", line: 7, limit: 1}},
		"read the first 5 lines of a.txt":                  {{act: actRead, path: "a.txt", limit: 5}},
		"read a.txt:3-10":                                  {{act: actRead, path: "a.txt", line: 3, limit: 8}},
		"read a.txt:3":                                     {{act: actRead, path: "a.txt", line: 3, limit: 1}},
		"read a.txt lines 10-3":                            {{act: actRead, path: "a.txt", line: 3, limit: 8}},
		"read /abs/path/x.go":                              {read("/abs/path/x.go")},
		"read [@x.go](file:///w/my%20x.go)":                {read("/w/my x.go")},
		`read [my \[x\].go](<file:///w/my (x).go>) please`: {read("/w/my (x).go")},
		"read a.txt, then show lines 1-2 of it":            {read("a.txt"), {act: actRead, path: "a.txt", line: 1, limit: 2}},
		"read ../up.txt":                                   {read("../up.txt")},
		"take a look at main.go":                           {read("main.go")},

		// Listing.
		"list":                       {list(".", "")},
		"list files":                 {list(".", "")},
		"show me all the files":      {list(".", "")},
		"what files are there?":      {list(".", "")},
		"list the files in src/x":    {list("src/x", "")},
		"ls internal/":               {list("internal/", "")},
		"list *.go files in cmd":     {list("cmd", "*.go")},
		"find files named *_test.go": {list(".", "*_test.go")},
		"find *.md":                  {list(".", "*.md")},

		// Searching.
		"search TODO":                              {search("TODO", ".")},
		"search for TODO in src":                   {search("TODO", "src")},
		"find all uses of NewServer in main.go":    {search("NewServer", "main.go")},
		`grep "func main() {" in cmd/x`:            {search("func main() {", "cmd/x")},
		`search for "read a, then run b"`:          {search("read a, then run b", ".")},
		"search func main in this project":         {search("func main", ".")},
		"look for hello world in the directory x":  {search("hello world", "x")},
		"where is NewServer used?":                 {search("NewServer", ".")},
		"search 'in the hat' in books":             {search("in the hat", "books")},
		"read a.txt and search for foo in it":      {read("a.txt"), search("foo", "a.txt")},
		"search the string `a \"b\"` in all files": {search(`a "b"`, ".")},

		// Replacing.
		"replace foo with bar in a.txt":                        {replace("foo", "bar", "a.txt")},
		`replace "foo bar" by 'baz' in "my a.txt"`:             {replace("foo bar", "baz", "my a.txt")},
		"change foo to bar in a.txt":                           {replace("foo", "bar", "a.txt")},
		"change all occurrences of x to y in a.txt":            {replace("x", "y", "a.txt")},
		"in a.txt replace foo with bar":                        {replace("foo", "bar", "a.txt")},
		"in a.txt, replace foo with bar":                       {replace("foo", "bar", "a.txt")},
		"read a.txt then replace x b with c d":                 {read("a.txt"), replace("x b", "c d", "a.txt")},
		"read a.txt, replace x with y in it":                   {read("a.txt"), replace("x", "y", "a.txt")},
		"replace the first x with y in a.txt":                  {{act: actReplace, text: "x", with: "y", path: "a.txt", once: true}},
		`replace "a\tb\"" with "c\nd" in a.txt`:                {replace("a\tb\"", "c\nd", "a.txt")},
		"replace `a\\n` with 'b' in a.txt":                     {replace(`a\n`, "b", "a.txt")},
		"replace foo with nothing in a.txt":                    {replace("foo", "", "a.txt")},
		`replace foo with "" in a.txt`:                         {replace("foo", "", "a.txt")},
		`remove "foo" from a.txt`:                              {replace("foo", "", "a.txt")},
		"remove the text foo bar from a.txt":                   {replace("foo bar", "", "a.txt")},
		"rename oldName to newName in a.go":                    {replace("oldName", "newName", "a.go")},
		"replace 1+1 with 2 in the file a.go":                  {replace("1+1", "2", "a.go")},
		`replace "it's" with "it is" in a.txt`:                 {replace("it's", "it is", "a.txt")},
		"replace don't with do in a.txt":                       {replace("don't", "do", "a.txt")},
		"replace “foo, and read” with ‘x’ in a.txt":            {replace("foo, and read", "x", "a.txt")},
		"replace\n```\na\nb\n```\nwith\n```\nc\n```\nin a.txt": {replace("a\nb\n", "c\n", "a.txt")},

		// Writing.
		"create a.txt with hello":                     {create("a.txt", "hello\n")},
		`create a new file a.txt with "hi\nthere"`:    {create("a.txt", "hi\nthere\n")},
		"write hello world to a.txt":                  {create("a.txt", "hello world\n")},
		`write "hello to you" to a.txt`:               {create("a.txt", "hello to you\n")},
		`save "x" in the file a.txt`:                  {create("a.txt", "x\n")},
		"create an empty file a.txt":                  {create("a.txt", "")},
		"create a.txt containing the text hello":      {create("a.txt", "hello\n")},
		"write a.txt with content: hello":             {create("a.txt", "hello\n")},
		"create a.go with\n```go\npackage a\n```":     {create("a.go", "package a\n")},
		"create a.go:\n```go\npackage a\n\nx\n```":    {create("a.go", "package a\n\nx\n")},
		"make a file a.txt with hello":                {create("a.txt", "hello\n")},
		"append one more line to a.txt":               {{act: actAppend, path: "a.txt", text: "one more line\n"}},
		`add "x to y" to the end of a.txt`:            {{act: actAppend, path: "a.txt", text: "x to y\n"}},
		"create a.txt with hi, then append you to it": {create("a.txt", "hi\n"), {act: actAppend, path: "a.txt", text: "you\n"}},

		// Running.
		"run go test ./...":                 {run("go test ./...")},
		"run `go test ./...`":               {run("go test ./...")},
		"execute the command go version.":   {run("go version")},
		"$ ls .":                            {run("ls .")},
		"run make and make install":         {run("make"), run("make install")},
		`run git commit -m "fix, then run"`: {run(`git commit -m "fix, then run"`)},
		"run echo a | wc -c":                {run("echo a | wc -c")},
		`run "echo a; echo b"`:              {run("echo a; echo b")},
		"run X=1 go env":                    {run("X=1 go env")},
		`run prog --name="a b" 'c d'`:       {run(`prog --name="a b" 'c d'`)},
		"run ls *.g?":                       {run("ls *.g?")},

		// Several things.
		"read a.txt, then replace foo with bar in a.txt and run go test ./...": {
			read("a.txt"), replace("foo", "bar", "a.txt"), run("go test ./...")},
		"1. read a.txt\n2. search foo\n3) run go vet": {read("a.txt"), search("foo", "."), run("go vet")},
		"- read a.txt\n- list files\n":                {read("a.txt"), list(".", "")},
		"read a.txt; list src; run go vet":            {read("a.txt"), list("src", ""), run("go vet")},
		"read a.txt\nrun go vet":                      {read("a.txt"), run("go vet")},
		"First, read a.txt. Then run go vet. Thanks!": {read("a.txt"), run("go vet")},
		"Hi! Please read a.txt and also, please, list the files, and finally run go vet": {
			read("a.txt"), list(".", ""), run("go vet")},
		"run go test ./..., search \"+ 23\", replace \"+ 23\" with \"+ 32\" in t.go, and run go test ./...": {
			run("go test ./..."), search("+ 23", "."), replace("+ 23", "+ 32", "t.go"), run("go test ./...")},

		// Quotation marks within words.
		`run go vet -x="a; b, c" d; read a.txt`: {run(`go vet -x="a; b, c" d`), read("a.txt")},
		`run go vet -x="a; b"; read a.txt`:      {run(`go vet -x="a; b"`), read("a.txt")},
		`run go vet -x="" d; read b"c.txt`:      {run(`go vet -x="" d`), read(`b"c.txt`)},
		`run go vet -x="a; b"c"; d"`:            {run(`go vet -x="a; b"c"; d"`)},
		`run go vet -x="`:                       {run(`go vet -x="`)},
		"run go vet -x=\"\nread b\"c.txt":       {run(`go vet -x="`), read(`b"c.txt`)},
		"run go vet -x=\"d\nread \"a.txt\"":     {run(`go vet -x="d`), read("a.txt")},

		// Hooks.
		"wait 2 seconds":       {{act: actWait, wait: 2 * time.Second}},
		"wait":                 {{act: actWait, wait: time.Second}},
		"wait for 250ms":       {{act: actWait, wait: 250 * time.Millisecond}},
		"wait 1.5 minutes":     {{act: actWait, wait: 90 * time.Second}},
		"think about life":     {{act: actThink, text: "life"}},
		"help":                 {{act: actHelp}},
		"what can you do?":     {{act: actHelp}},
		"thank you very much!": nil,
		"":                     nil,
		"please":               nil,
		" \n\n\t ":             nil,
	} {
		steps, problem := parse(request, nil)
		assert.Empty(t, problem, "request: %s", request)
		assert.Equal(t, want, steps, "request: %s", request)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"read a.txt, then replace foo with bar in it and run go test ./...", "1. read \"a b\"\n2. run 'x", "in a replace b with",
		"create a:\n```go\nx\n```", "create a:\n```go*x\n```", "read lines 3 to of", "search in in in", "replace with with with in in", "find files named",
		"append to to", "write to", "[@x](file:///a) read [y](file://%zz)", "wait 1e9 minutes", "$", "-", "“", "from line", "1.",
		"use x_y {\"a\": [1, 2]} and undo that", "call `a_b {}`", "again", "take it back", "use { {\"", "test", "run the", "in a", "in the file",
		"go test", "make", "ls -la", "./x y", "read it and it", "show me all the", "where is", "add the line to", "save to a", "create the empty file",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, request string) {
		steps, problem := parse(request, []string{"read a.txt"})
		require.False(t, problem != "" && steps != nil)
		for _, s := range steps {
			require.NotEmpty(t, s.act)
			require.NotEmpty(t, s.String())
			require.GreaterOrEqual(t, s.line, 0)
			require.GreaterOrEqual(t, s.limit, 0)
			require.True(t, s.wait >= 0 && s.wait <= longestWait)
			switch s.act {
			case actRead, actReplace, actCreate, actAppend:
				require.NotEmpty(t, s.path, "%+v", s)
			case actRun:
				require.NotEmpty(t, s.command)
			case actTool:
				require.True(t, json.Valid(s.args))
			}
			if utf8.ValidString(request) {
				require.True(t, utf8.ValidString(s.text+s.with+s.path+s.command), "%+v", s)
			}
		}
	})
}
