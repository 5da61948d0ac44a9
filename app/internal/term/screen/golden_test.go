// SPDX-License-Identifier: Apache-2.0

package screen_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
)

var update = flag.Bool("update", false, "write the golden screens")

const answer = "## 結果\n\nThe **fix** is in `temperature.go`: 摂氏から華氏への変換式の定数が間違っていました。 👩‍👩‍👧 done.\n\n" +
	"```go\nfunc (c Celsius) Fahrenheit() Fahrenheit { // 華氏\n\treturn Fahrenheit(c*9/5 + 32)\n}\n```\n\n1. one\n2. two, which is long enough to be wrapped on every one of the screens that this is drawn on, and then some\n\n| city | °C |\n|---|---|\n| 東京 | 21 |\n"

// turn plays a turn, with a screen after each part of it.
func turn(d *desk, screen func(name string)) {
	d.updates(
		acp.SessionUpdate{AvailableCommandsUpdate: &acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{
			{Name: "compact", Description: "summarise the conversation"}, {Name: "mode", Description: "change the mode"},
		}}},
		acp.SessionUpdate{CurrentModeUpdate: &acp.CurrentModeUpdate{CurrentModeID: "ask"}},
		acp.SessionUpdate{UsageUpdate: &acp.UsageUpdate{Used: 2500, Size: 10000}},
	)
	d.SetFiles([]string{"go.mod", "temperature.go", "temperature_test.go", "docs/気温.md"})
	d.typed("/c")
	screen("commands")
	d.read("\t")
	d.typed("now")
	d.read("\x15")
	d.read("\x1b[200~mend the\nconversion: 摂氏から華氏への変換を直してください。 It is off by nine degrees, and the test fails\x1b[201~")
	d.typed(" @temp")
	screen("input")
	d.read("\t")
	d.read("\r")
	d.Begin(d.now)
	d.fold.Prompt(acp.TextBlock(d.done()[1].Text))
	d.show()
	d.pass(3 * time.Second)
	d.updates(acp.ThoughtChunk("Let me see.\nThe constant 23 looks wrong: 華氏 is 32 more"))
	screen("thought")
	old, fixed := "a\nb\nfunc (c Celsius) Fahrenheit() Fahrenheit {\n\treturn Fahrenheit(c*9/5 + 23)\n}\n", "a\nb\nfunc (c Celsius) Fahrenheit() Fahrenheit {\n\treturn Fahrenheit(c*9/5 + 32)\n}\n"
	d.updates(
		acp.SessionUpdate{ToolCall: &acp.ToolCall{ToolCallID: "1", Title: "Edit temperature.go", Status: acp.ToolCallStatusPending,
			Content: []acp.ToolCallContent{{Diff: &acp.Diff{Path: "/repo/temperature.go", OldText: &old, NewText: fixed}}}}},
	)
	r := question("Edit temperature.go", toolset.Preview{Diff: &toolset.Diff{Path: "/repo/temperature.go", Old: &old, New: &fixed}})
	r.Call = d.last.Get("call:1")
	d.Ask(d.now, 1, r)
	d.shown()
	screen("question")
	d.pass(time.Second)
	d.read("y")
	d.updates(acp.SessionUpdate{ToolCallUpdate: &acp.ToolCallUpdate{ToolCallID: "1", Status: acp.ToolCallStatusCompleted}})
	d.Ask(d.now, 2, question("Run the tests", toolset.Preview{Command: &toolset.CommandLine{
		Line: "go test ./... -run 'TestKnownTemperatures' -count=1 # 全部のテスト; rm -rf ~/important", Dir: "/repo/sub", Env: []string{"GOFLAGS=-mod=mod"}}}))
	d.shown()
	screen("command")
	d.pass(time.Second)
	d.read("y")
	e := view.Entity{ID: "command:1", Kind: view.Command, Title: "go test ./...", Dir: "/repo/sub", Status: view.Running,
		Content: []view.Content{{Kind: view.Text, Text: strings.Repeat("=== RUN\n", 30) + "10 %\r99 %\x1b[32m\nok 気温\t0.01s\n"}}}
	put := func(e view.Entity) {
		require.NoError(d.t, d.fold.View().Apply(view.Change{Op: view.Upsert, ID: e.ID, Entity: &e}))
		d.show()
	}
	put(e)
	d.typed("and then?")
	d.read("\r")
	screen("running")
	e.Status, e.Exit = view.Completed, &view.Exit{}
	put(e)
	d.updates(acp.TextChunk(answer))
	d.End(d.now, "")
	screen("answer")
	d.read("\x1b[5~")
	screen("scrolled")
	d.read("\x0f")
	d.read("\x1b")
	d.Input(d.now, d.parser.Flush())
	screen("unfolded")
	d.resize(max(d.width-23, 15), max(d.height-5, 4))
	screen("resized")
	d.typed("wide 気温の変換をもう一度確かめてから、全部のテストを走らせてください")
	screen("wide")
}

func TestGoldenScreens(t *testing.T) {
	for name, size := range map[string][2]int{"20": {20, 5}, "60": {60, 20}, "80": {80, 24}, "100": {100, 30}, "200": {200, 50}} {
		d := newDesk(t, size[0], size[1])
		var all strings.Builder
		turn(d, func(part string) {
			all.WriteString("=== " + part + "\n" + d.shown())
		})
		file := filepath.Join("testdata", name+".golden")
		if *update {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(file, []byte(all.String()), 0o644))
		}
		want, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, strings.ReplaceAll(string(want), "\r\n", "\n"), all.String(), "%s: go test -update writes it anew", file)
	}
}
