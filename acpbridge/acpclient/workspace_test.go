// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/internal/acpview"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// asked is a person who notes what was asked, and answers with a kind of option.
type asked struct {
	kinds []acp.PermissionOptionKind
	all   []string
}

func (p *asked) answer(_ context.Context, r *acpclient.PermissionRequest) (acp.PermissionOptionID, error) {
	who := "agent"
	if r.Unasked {
		who = "client"
	}
	kind := acp.PermissionOptionKindAllowOnce
	if n := len(p.all); n < len(p.kinds) {
		kind = p.kinds[n]
	}
	p.all = append(p.all, who+" asks:\n"+approval.Text(&r.Approval))
	return r.Option(kind), nil
}

// ask is an agent's question about a tool call.
func (a *raw) ask(call string) string {
	m := a.call("session/request_permission", `{"sessionId":"s","toolCall":`+call+`,"options":[{"optionId":"no","name":"No","kind":"reject_once"},`+
		`{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"ever","name":"Ever","kind":"allow_always"}]}`)
	return string(m.Result)
}

func (a *raw) writeFile(path, content string) {
	text, _ := json.Marshal(content)
	m := a.call("fs/write_text_file", `{"sessionId":"s","path":"`+path+`","content":`+string(text)+`}`)
	if m.Error != nil {
		a.say(m.Error.Message + "\n")
	} else {
		a.say("written\n")
	}
}

func (a *raw) create(request string) message {
	m := a.call("terminal/create", `{"sessionId":"s",`+request+`}`)
	if m.Error != nil {
		a.say(m.Error.Message + "\n")
	} else {
		a.say("started\n")
	}
	return m
}

// work lets an agent work on a workspace, and returns what it said.
func work(t *testing.T, p *asked, ws *workspace.Memory, script func(a *raw)) (*acpclient.Turn, string) {
	t.Helper()
	s := begin(t, acpclient.Config{Permission: p.answer, Workspace: ws}, func(a *raw) {
		a.open()
		a.turn(func() { script(a) })
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	return turn, turn.Text()
}

func TestFilesAreReadFromTheWorkspace(t *testing.T) {
	ws := newWorkspace(t, nil)
	require.NoError(t, ws.Disk().WriteFile("/repo/binary", []byte("\xff\xfe\x00"), 0o644))
	_, said := work(t, &asked{}, ws, func(a *raw) {
		for _, params := range []string{`"path":"/repo/a.txt"`, `"path":"/repo/a.txt","line":2,"limit":1`, `"path":"/repo/a.txt","limit":0`, `"path":"/repo/no"`, `"path":"/repo"`, `"path":"/repo/binary"`} {
			m := a.call("fs/read_text_file", `{"sessionId":"s",`+params+`}`)
			if m.Error != nil {
				a.say(fmt.Sprintf("%d %s\n", m.Error.Code, m.Error.Message))
			} else {
				a.say(string(m.Result) + "\n")
			}
		}
	})
	require.Equal(t, `{"content":"one\ntwo\nthree\n"}
{"content":"two\n"}
{"content":""}
-32002 read /repo/no: file does not exist
-32602 read /repo: is a directory
-32602 read /repo/binary: is not text
`, said)
}

func TestWritesThatTheAgentDoesNotAskAboutAreAskedAbout(t *testing.T) {
	ws := newWorkspace(t, nil)
	p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "reject_once", "allow_always"}}
	_, said := work(t, p, ws, func(a *raw) {
		a.writeFile("/repo/new.txt", "new\n")
		a.writeFile("/repo/a.txt", "gone\n")
		a.writeFile("/repo/new.txt", "newer\n")
		a.writeFile("/repo/new.txt", "newest\n") // always
		a.writeFile("/repo/new.txt", "newest\n") // nothing changes
	})
	require.Equal(t, "written\nthe user did not allow this: Write /repo/a.txt\nwritten\nwritten\nwritten\n", said)
	require.Len(t, p.all, 3)
	require.True(t, strings.HasPrefix(p.all[1], "client asks:\nWrite /repo/a.txt\n\nThe agent has not asked about this.\n"), p.all[1])
	require.Contains(t, p.all[1], "-two\n")
	require.Contains(t, p.all[1], "+gone")
	data, err := ws.Disk().ReadFile("/repo/a.txt")
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\nthree\n", string(data))
}

func TestWritesThatWereShownAreNotAskedAboutTwice(t *testing.T) {
	ws := newWorkspace(t, nil)
	diff := func(path, old, new string) string {
		return `{"toolCallId":"c","title":"Edit","content":[{"type":"diff","path":"` + path + `","oldText":"` + old + `","newText":"` + new + `"}]}`
	}
	p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "allow_once", "allow_once", "reject_once"}}
	_, said := work(t, p, ws, func(a *raw) {
		a.ask(diff("/repo/a.txt", "two", "2"))
		a.writeFile("/repo/a.txt", "one\n2\nthree\n") // as it was shown
		a.writeFile("/repo/a.txt", "one\n2\n3\n")     // once
		a.ask(diff("/repo/a.txt", "2", "two"))
		a.writeFile("/repo/a.txt", "one\nsomething else\n3\n") // not what was shown: asked, and rejected
	})
	require.Equal(t, "written\nwritten\nthe user did not allow this: Write /repo/a.txt\n", said)
	var who []string
	for _, q := range p.all {
		who = append(who, strings.Fields(q)[0])
	}
	require.Equal(t, []string{"agent", "client", "agent", "client"}, who)
}

// A program that is called like a shell is not the shell that would run what was shown.
func TestShellElsewhereIsAskedAbout(t *testing.T) {
	ws := newWorkspace(t, func(context.Context, *workspace.MemoryShell) int { return 0 })
	p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "reject_once"}}
	_, said := work(t, p, ws, func(a *raw) {
		a.ask(`{"toolCallId":"c","title":"Run","rawInput":{"command":"make all"}}`)
		a.create(`"command":"/tmp/evil/sh","args":["-c","make all"]`)
	})
	require.Contains(t, said, "the user did not allow this: Run /tmp/evil/sh")
	require.Len(t, p.all, 2)
}

// Some agents show every write as a new file. A person who allowed that has not seen what is overwritten.
func TestNewFileThatWasShownDoesNotCoverAnExistingOne(t *testing.T) {
	ws := newWorkspace(t, nil)
	shown := func(path string) string {
		return `{"toolCallId":"c","title":"Write","content":[{"type":"diff","path":"` + path + `","newText":"new\n"}]}`
	}
	p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "reject_once", "allow_once"}}
	_, said := work(t, p, ws, func(a *raw) {
		a.ask(shown("/repo/a.txt"))
		a.writeFile("/repo/a.txt", "new\n") // it exists: the client asks, and shows what goes
		a.ask(shown("/repo/b.txt"))
		a.writeFile("/repo/b.txt", "new\n")
	})
	require.Equal(t, "the user did not allow this: Write /repo/a.txt\nwritten\n", said)
	require.Len(t, p.all, 3)
	require.Contains(t, p.all[1], "-two\n")
}

func TestCommandsAreAskedAbout(t *testing.T) {
	ran := make(chan string, 10)
	ws := newWorkspace(t, func(_ context.Context, sh *workspace.MemoryShell) int {
		fmt.Fprint(sh, "ran in ", sh.Dir)
		ran <- sh.Getenv("X")
		return 3
	})
	p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "reject_once", "allow_once", "allow_once"}}
	turn, said := work(t, p, ws, func(a *raw) {
		m := a.create(`"command":"go","args":["test","./..."],"env":[{"name":"X","value":"1"}]`) // client asks
		a.create(`"command":"rm -rf x"`)                                                         // client asks: no
		a.ask(`{"toolCallId":"c","title":"Run","rawInput":{"command":"make all"}}`)
		a.create(`"command":"sh","args":["-c","make all"]`)                                             // as it was shown
		a.create(`"command":"sh","args":["-c","make all"],"env":[{"name":"PATH","value":"/tmp/evil"}]`) // not shown: client asks
		var created struct{ TerminalID string }
		_ = json.Unmarshal(m.Result, &created)
		params := `{"sessionId":"s","terminalId":"` + created.TerminalID + `"}`
		a.say(string(a.call("terminal/wait_for_exit", params).Result) + "\n")
		a.say(string(a.call("terminal/output", params).Result) + "\n")
		a.call("terminal/kill", params)
		a.say(string(a.call("terminal/release", params).Result) + "\n")
		a.say(a.call("terminal/release", params).Error.Message + "\n")
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Run","content":[{"type":"terminal","terminalId":"` + created.TerminalID + `"}]}`)
	})
	require.Equal(t, `started
the user did not allow this: Run rm -rf x


started
started
{"exitCode":3}
{"output":"ran in /repo","truncated":false,"exitStatus":{"exitCode":3}}
{}
there is no terminal "terminal-…"
`, regexp.MustCompile(`terminal-\w+`).ReplaceAllString(said, "terminal-…"))
	require.Len(t, p.all, 4)
	require.Contains(t, p.all[0], "X=1")
	require.Contains(t, p.all[1], "rm -rf x")
	require.True(t, strings.HasPrefix(p.all[2], "agent asks"))
	require.Contains(t, p.all[3], "PATH=/tmp/evil")
	e := turn.Snapshot.Get(turn.Snapshot.Get(acpview.CallID("t")).Content[0].Ref)
	require.Equal(t, "ran in /repo", e.Text())
	require.Equal(t, &view.Exit{Code: 3}, e.Exit)
	require.Equal(t, view.Failed, e.Status)
	require.ElementsMatch(t, []string{"1", "", ""}, []string{<-ran, <-ran, <-ran}, "they run side by side")
}

// A command that was shown is allowed without another question only if sh reads the same.
func TestCommandThatShReadsOtherwiseWasNotShown(t *testing.T) {
	for shown, ran := range map[string]string{"make all": "\u00a0make all", "make": "make\r", "echo a\\": "echo a\\ ", "-x": "-x", "a": "+a"} {
		p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "reject_once"}}
		_, said := work(t, p, newWorkspace(t, func(context.Context, *workspace.MemoryShell) int { return 0 }), func(a *raw) {
			line, _ := json.Marshal(shown)
			a.ask(`{"toolCallId":"c","title":"Run","rawInput":{"command":` + string(line) + `}}`)
			line, _ = json.Marshal(ran)
			a.create(`"command":"sh","args":["-c",` + string(line) + `]`)
		})
		require.Contains(t, said, "the user did not allow this", "%q was shown, and %q ran", shown, ran)
		require.Len(t, p.all, 2)
	}
}

func TestNothingIsRememberedOfAnotherTurn(t *testing.T) {
	ws := newWorkspace(t, workspace.MemoryPrint("", 0))
	p := &asked{}
	s := begin(t, acpclient.Config{Permission: p.answer, Workspace: ws}, func(a *raw) {
		a.open()
		a.turn(func() { a.ask(`{"toolCallId":"c","rawInput":{"command":"make"}}`) })
		a.turn(func() { a.create(`"command":"make"`) })
		a.wait()
	})
	for range 2 {
		_, err := s.Say(t.Context(), "hello")
		require.NoError(t, err)
	}
	require.Len(t, p.all, 2)
	require.True(t, strings.HasPrefix(p.all[1], "client asks"))
}

func TestWithoutAPersonNothingIsWrittenOrRun(t *testing.T) {
	ws := newWorkspace(t, workspace.MemoryPrint("", 0))
	s := begin(t, acpclient.Config{Workspace: ws}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.say(a.ask(`{"toolCallId":"c","rawInput":{"command":"make"}}`) + "\n")
			a.create(`"command":"make"`)
			a.writeFile("/repo/a.txt", "x")
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, `{"outcome":{"outcome":"selected","optionId":"no"}}`+"\nthe user did not allow this: Run make\nthe user did not allow this: Write /repo/a.txt\n", turn.Text())
}

func TestAskersAnswer(t *testing.T) {
	ws := newWorkspace(t, workspace.MemoryPrint("", 0))
	var got []toolset.ApprovalRequest
	decisions := []toolset.Decision{toolset.Allow(), {Verdict: toolset.VerdictAllow, Always: true}, toolset.Deny("no"), toolset.Defer()}
	ask := acpclient.AskWith(toolset.AskerFuncs{OnApprove: func(_ context.Context, r toolset.ApprovalRequest) (toolset.Decision, error) {
		got = append(got, r)
		return decisions[len(got)-1], nil
	}})
	s := begin(t, acpclient.Config{Workspace: ws, Permission: ask}, func(a *raw) {
		a.open()
		a.turn(func() {
			for range 4 {
				a.say(a.ask(`{"toolCallId":"c","title":"Make","kind":"execute","rawInput":{"command":["make","all"],"env":{"B":"2","A":"1"}}}`) + "\n")
			}
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	require.Equal(t, `{"outcome":{"outcome":"selected","optionId":"yes"}}
{"outcome":{"outcome":"selected","optionId":"ever"}}
{"outcome":{"outcome":"selected","optionId":"no"}}
{"outcome":{"outcome":"cancelled"}}
`, turn.Text())
	require.Equal(t, toolset.KindExecute, got[0].Kind)
	require.Equal(t, []string{"s", "call:c"}, got[0].Path)
	require.Equal(t, &toolset.CommandLine{Args: []string{"make", "all"}, Env: []string{"A=1", "B=2"}}, got[0].Approval.Preview[0].Command)
}

// A change that names a directory, or one that becomes a directory, covers no files below it.
func TestAlwaysForAForeignChangeCoversOneFile(t *testing.T) {
	ws := newWorkspace(t, nil)
	shown := func(path string) string {
		return `{"toolCallId":"c","title":"Edit","content":[{"type":"diff","path":"` + path + `","newText":"new\n"}]}`
	}
	p := &asked{kinds: []acp.PermissionOptionKind{"allow_always", "allow_always", "allow_always", "reject_once", "reject_once", "reject_once"}}
	_, said := work(t, p, ws, func(a *raw) {
		for _, dir := range []string{"/repo", "/repo/sub", "/repo/b.txt"} {
			a.ask(shown(dir))
		}
		for _, name := range []string{"/repo/new.txt", "/repo/sub/new.txt", "/repo/a.txt"} {
			a.writeFile(name, "evil\n")
		}
		a.writeFile("/repo/b.txt", "new\n")
		a.writeFile("/repo/b.txt", "newer\n")
	})
	require.Equal(t, 3, strings.Count(said, "the user did not allow this"), said)
	require.Equal(t, 2, strings.Count(said, "written\n"), said)
	require.Len(t, p.all, 6)
}
