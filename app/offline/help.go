// SPDX-License-Identifier: Apache-2.0

package offline

// help describes the requests that the model understands.
const help = `I am the offline demo model. I follow a few rules, and this is what I understand:

- ` + "`read main.go`, `show lines 10-20 of main.go`" + `
- ` + "`list files`, `list *.go in internal`" + `
- ` + "`search TODO in src`, `where is NewServer`" + `
- ` + "`where is NewServer defined`, `who calls NewServer`, `rename NewServer to New`, `what is broken`" + `, where a language server is installed
- ` + "`replace foo with \"bar baz\" in main.go`, `remove \"foo\" from main.go`" + `
- ` + "`create notes.txt with \"hello\"`, `append \"one more line\" to notes.txt`" + `
- ` + "`run the tests`, `run make check`, and command lines such as `go test ./...` and `git status`" + `
- ` + "`again`, `undo`, `redo`" + `
- ` + "`use list_files {\"pattern\": \"*.go\"}` for any tool" + `
- several of these with commas, “then”, “and”, semicolons or on lines of their own

Quotes protect text that has such words in it; between double quotes ` + "`\\n`, `\\t`, `\\\"` and `\\\\`" + ` are escapes.
I do all of a request or nothing. With a real model I would understand much more: start the agent with
` + "`-model openai:NAME` or `-model ollama:NAME`" + `.
`
