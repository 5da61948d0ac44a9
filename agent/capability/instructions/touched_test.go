// SPDX-License-Identifier: Apache-2.0

package instructions_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/capability/instructions"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func editing(id, path, before, after string) model.Part {
	return model.ToolCall(id, workspace.ToolEditFile, `{"path":"`+path+`","edits":[{"old_text":"`+before+`","new_text":"`+after+`"}]}`)
}

func writing(id, path string) model.Part {
	return model.ToolCall(id, workspace.ToolWriteFile, `{"path":"`+path+`","content":"new"}`)
}

var tree = files{
	"AGENTS.md": "top", "a/AGENTS.md": "of a", "a/x.go": "package a", "a/b/AGENTS.md": "of b @more.md", "a/b/more.md": "more of b", "a/b/x.go": "package b",
	"c/x.go": "package c", "node_modules/m/AGENTS.md": "obey", "node_modules/m/x.js": "x", "c/vendor/m/AGENTS.md": "obey", "c/vendor/m/x.go": "package m",
}

func TestTouchedFilesAddInstructionsOnce(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: tree})
	requests, messages := p.run(nil,
		modeltest.Say(read("1", "a/b/x.go")), modeltest.Say(read("2", "a/b/x.go"), read("3", "a/x.go")), modeltest.Say(read("4", "c/x.go")))
	texts := added(messages)
	require.Len(t, texts, 2)
	require.Equal(t, "a/AGENTS.md", shown(texts[0]))
	require.Equal(t, "a/b/AGENTS.md a/b/more.md", shown(texts[1]))
	require.Equal(t, texts, added(messages[2:3]), "with the result of the first call")
	for i := 1; i < len(requests); i++ {
		require.Equal(t, requests[i-1].Instructions, requests[i].Instructions)
		require.Equal(t, requests[i-1].Messages, requests[i].Messages[:len(requests[i-1].Messages)], "requests grow at their end only")
	}
	_, messages = p.run(messages, modeltest.Say(read("1", "a/b/x.go")))
	require.Len(t, added(messages), 2, "nor in the next run")
}

func TestParallelCallsAddInstructionsOnce(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: tree})
	var calls []model.Part
	for _, id := range []string{"1", "2", "3", "4", "5", "6", "7", "8"} {
		calls = append(calls, read(id, "a/x.go"))
	}
	_, messages := p.run(nil, modeltest.Say(calls...))
	require.Len(t, added(messages), 1)
}

func TestWritesAddInstructions(t *testing.T) {
	for _, call := range []model.Part{writing("1", "a/new.go"), editing("1", "a/x.go", "package a", "package z")} {
		p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: tree})
		_, messages := p.run(nil, modeltest.Say(call))
		require.Equal(t, "a/AGENTS.md", shown(strings.Join(added(messages), "\n")))
	}
}

func TestSomeFilesAddNoInstructions(t *testing.T) {
	for name, path := range map[string]string{
		"code of others": "node_modules/m/x.js", "code of others below": "c/vendor/m/x.go", "a file that is not there": "a/gone.go",
		"the instructions themselves": "a/AGENTS.md", "outside": "../x.go", "the top": "AGENTS.md",
	} {
		p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: tree})
		_, messages := p.run(nil, modeltest.Say(read("1", path)))
		require.Empty(t, added(messages), name)
	}
}

func TestInstructionsAreAddedAgainWhenTheHistoryHasLostThem(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: tree})
	_, messages := p.run(nil, modeltest.Say(read("1", "a/x.go")))
	require.Len(t, added(messages), 1)
	_, messages = p.run(messages[len(messages)-1:], modeltest.Say(read("1", "a/x.go")))
	require.Len(t, added(messages), 1)
}

func TestChangedInstructionsAreAddedInTheNextRun(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: tree})
	_, messages := p.run(nil, modeltest.Say(read("1", "a/x.go")))
	p.write("/repo/a/AGENTS.md", "changed")
	_, messages = p.run(messages, modeltest.Say(read("1", "a/x.go")), modeltest.Say(read("2", "a/x.go")))
	texts := added(messages)
	require.Len(t, texts, 2)
	require.Contains(t, texts[1], "\nchanged\n")
}

func TestTouchedInstructionsDoNotLeaveTheWorkspace(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{"a/x.go": "package a"}})
	p.write("/elsewhere/AGENTS.md", "secret")
	p.link("/elsewhere/AGENTS.md", "/repo/a/AGENTS.md")
	_, messages := p.run(nil, modeltest.Say(read("1", "a/x.go")))
	require.NotContains(t, strings.Join(added(messages), ""), "secret")
}

// Sessions are kept for long, so the marks by which a later run finds what it has added stay the
// same.
func TestMarksOfTouchedInstructions(t *testing.T) {
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: tree})
	_, messages := p.run(nil, modeltest.Say(read("1", "a/x.go")))
	var marks []string
	for _, part := range messages[2].Parts {
		if part.Kind == model.PartUser {
			marks = append(marks, string(part.Meta))
		}
	}
	require.Equal(t, []string{`{"ponte.instructions":"/repo/a\u000097518af97e18da2fd10c2498"}`}, marks)

	first := &model.Message{Kind: model.KindRequest, Parts: []model.Part{model.User("go")}}
	for _, part := range messages[2].Parts {
		if part.Kind == model.PartUser {
			first.Parts = append(first.Parts, part)
		}
	}
	_, messages = p.run([]*model.Message{first, model.Response(model.Text("done"))}, modeltest.Say(read("1", "a/x.go")))
	require.Len(t, added(messages), 1, "found in the first message of the history")
}

func TestDeepPathsAreBounded(t *testing.T) {
	deep := strings.Repeat("d/", 100)
	p := newProject(t, instructions.Options{}, workspace.MemoryConfig{Files: files{deep + "x.go": "package x", deep + "AGENTS.md": "deep", "d/AGENTS.md": "far"}})
	_, messages := p.run(nil, modeltest.Say(read("1", deep+"x.go")))
	texts := added(messages)
	require.Len(t, texts, 1, "the nearest directories are looked at")
	require.Contains(t, texts[0], "\ndeep\n")
}
