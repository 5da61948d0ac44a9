// SPDX-License-Identifier: Apache-2.0

package acpclient_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset/workspace"
)

func TestErrorsTellWhatAgentsDid(t *testing.T) {
	agents := []acp.AuthMethod{{Agent: &acp.AuthMethodAgent{ID: "key"}}, {Terminal: &acp.AuthMethodTerminal{ID: "login"}}, {}}
	long := strings.Repeat("x", 5000)
	for _, c := range []struct {
		err  error
		want string
	}{
		{&acpclient.AgentError{Method: "m", Message: "no", Code: -1}, "acpclient: m: no (-1)"},
		{&acpclient.AgentError{Method: "m", Message: "no", Details: "why", Code: 7}, "acpclient: m: no: why (7)"},
		{&acpclient.AgentError{Method: "m", Message: "no: why", Details: "why", Code: 7}, "acpclient: m: no: why (7)"},
		{&acpclient.AgentError{Method: "m", Message: "no", Details: "a\nb\x1b", Code: 7, AuthMethods: agents}, "acpclient: m: no: a b⟨ESC⟩ (7); authenticate with one of: key, login, "},
		{&acpclient.AgentError{Method: "m", Message: long}, "acpclient: m: " + long[:4096-len("acpclient: m: ")] + "…"},
		{&acpclient.UnsupportedError{What: "x"}, "acpclient: the agent does not offer x"},
		{&acpclient.UnsupportedError{What: "x", Agent: "raw"}, "acpclient: raw does not offer x"},
		{&acpclient.ProtocolError{Problem: "x"}, "acpclient: the agent broke the protocol: x"},
		{&acpclient.ProtocolError{Method: "m", Problem: "x"}, "acpclient: m: the agent broke the protocol: x"},
		{&acpclient.ProtocolError{Method: "m", Problem: strings.Repeat("x", 4096-len("acpclient: m: the agent broke the protocol: "))}, "acpclient: m: the agent broke the protocol: " + strings.Repeat("x", 4096-len("acpclient: m: the agent broke the protocol: "))},
		{&acpclient.ProcessError{Command: "a b"}, `acpclient: agent "a b": the process has closed the connection`},
		{&acpclient.ProcessError{Command: "a", Method: "m", Ended: true, ExitCode: 3}, `acpclient: m: agent "a": the process has ended (exit code 3)`},
		{&acpclient.ProcessError{Command: "a", Ended: true, ExitCode: -1, Signal: "SIGKILL"}, `acpclient: agent "a": the process was ended by SIGKILL`},
		{&acpclient.ProcessError{Command: "a", Garbage: []string{"x", "y"}, Stderr: []string{"p", "q"}}, `acpclient: agent "a": the process has closed the connection; it printed to standard output: x | y; its last words: p | q`},
	} {
		require.EqualError(t, c.err, c.want)
	}
	require.ErrorIs(t, &acpclient.UnsupportedError{}, errors.ErrUnsupported)
}

// What an agent adds to an error, in any of the shapes that agents have, is its details.
func TestDetailsOfErrorsAreFound(t *testing.T) {
	for data, want := range map[string]string{
		`null`: "", `"why"`: "why", `{"details":"why"}`: "why", `{"message":"why"}`: "why", `{"error":"why"}`: "why", `{"details":"","message":"why","error":"x"}`: "why",
		`{"details":{"code":1}}`: `{"code":1}`, `{"error":["a"]}`: `["a"]`, `{"other":1}`: "", `[1]`: "", `7`: "", `{"details":null,"error":false}`: "false",
	} {
		s := begin(t, acpclient.Config{}, func(a *raw) {
			a.open()
			a.fail(a.await("session/prompt"), `{"code":-32603,"message":"It\n failed","data":`+data+`}`)
			a.wait()
		})
		_, err := s.Say(t.Context(), "hello")
		var failed *acpclient.AgentError
		require.ErrorAs(t, err, &failed, data)
		require.Equal(t, want, failed.Details, data)
		require.Equal(t, "It failed", failed.Message)
		require.Equal(t, "session/prompt", failed.Method)
		require.Equal(t, acp.CodeInternal, failed.Code)
		require.Empty(t, failed.AuthMethods)
	}
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.fail(a.await("session/prompt"), `{"code":-32000,"message":"Log in"}`)
		a.wait()
	})
	_, err := s.Say(t.Context(), "hello")
	require.ErrorIs(t, err, acp.ErrAuthRequired)
	require.EqualError(t, err, "acpclient: session/prompt: Log in (-32000); authenticate with one of: key")
}

// Passwords in addresses and the environment are in no print of a command, in any form.
func TestCommandsArePrintedWithoutSecrets(t *testing.T) {
	for arg, want := range map[string]string{
		"plain": "plain", "a@b:c": "a@b:c", "https://h/p": "https://h/p", "https://u@h": "https://u@h", "https://u:hush@h/p?q=1": "'https://u:…@h/p?q=1'",
		"--url=pg://u:hush@h": "--url=pg://u:…@h", "https://u:hu@sh@h": "https://u:…@h", "pg://h?password=hush&sslmode=on": "'pg://h?password=…&sslmode=on'",
		"pg://h?a=1&SSLPassword=hush": "'pg://h?a=1&SSLPassword=…'", "pg://h?password": "'pg://h?password'", "pg://h?pass=x": "'pg://h?pass=x'", "://u:hush@h": "://u:…@h",
	} {
		c := acpclient.Command{Path: "/bin/agent", Args: []string{"-x", arg}, Env: []string{"KEY=hush"}, Dir: "/hush"}
		require.Equal(t, "/bin/agent -x "+want, c.String())
		text, err := c.MarshalText()
		require.NoError(t, err)
		require.Equal(t, c.String(), string(text))
		require.Equal(t, slog.StringValue(c.String()), c.LogValue())
		require.Equal(t, c.String(), fmt.Sprintf("%v", c))
		require.NotContains(t, fmt.Sprintf("%v %+v %#v %d %x", c, c, &c, c, c), "hush")
	}
}

func TestConfigsAndCallsOfUnknownMethodsAreRefused(t *testing.T) {
	for _, c := range []acpclient.Config{{StartTimeout: -1}, {CancelGrace: -1}, {MaxState: -1}} {
		_, err := acpclient.Connect(t.Context(), strings.NewReader(""), io.Discard, c)
		require.EqualError(t, err, "acpclient: config: StartTimeout, CancelGrace and MaxState must not be negative")
		_, err = acpclient.Start(t.Context(), acpclient.Command{Path: "no such program"}, c)
		require.EqualError(t, err, "acpclient: config: StartTimeout, CancelGrace and MaxState must not be negative")
	}
	s := begin(t, acpclient.Config{Workspace: nil}, func(a *raw) {
		a.open()
		a.turn(func() {
			for _, method := range []string{"fs/read_text_file", "fs/write_text_file", "terminal/create", "terminal/output", "terminal/wait_for_exit", "terminal/kill", "terminal/release"} {
				m := a.call(method, `{"sessionId":"s","path":"/repo/a","content":"x","command":"x","terminalId":"t"}`)
				a.say(fmt.Sprintf("%d %s\n", m.Error.Code, m.Error.Message))
				m = a.call(method, `{"sessionId":"other","path":"/repo/a","content":"x","command":"x","terminalId":"t"}`)
				a.say(fmt.Sprintf("%d %s\n", m.Error.Code, m.Error.Message))
			}
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(turn.Text()), "\n")
	require.Len(t, lines, 14)
	for i, line := range lines {
		if i%2 == 0 {
			require.Regexp(t, `^-32601 this client does not offer (fs|terminal)/[a-z_]+$`, line)
		} else {
			require.Equal(t, `-32602 there is no session "other"`, line)
		}
	}
}

// Which of two command lines is the one that was shown: a line of a system's shell is the line, and blanks before it do not count.
func TestCommandsThatWereShownAreRecognised(t *testing.T) {
	type run struct{ shown, runs string }
	for _, c := range []struct {
		run
		same bool
	}{
		{run{`"command":"make all"`, `"command":"make all"`}, true},
		{run{`"command":"make all"`, `"command":"sh","args":["-c","make all"]`}, true},
		{run{`"command":"make all"`, `"command":"/bin/sh","args":["-c"," \t\nmake all"]`}, true},
		{run{`"command":"make all"`, `"command":"/usr/bin/sh","args":["-c","make all"]`}, true},
		{run{`"command":"make all"`, `"command":"bash","args":["-c","make all"]`}, true},
		{run{`"command":"make all"`, `"command":"/bin/bash","args":["-c","make all"]`}, true},
		{run{`"command":"make all"`, `"command":"/usr/bin/bash","args":["-c","make all"]`}, true},
		{run{`"command":"make all"`, `"command":"cmd","args":["/C"," make all "]`}, true},
		{run{`"command":"make all"`, `"command":"cmd.exe","args":["/c","make all"]`}, true},
		{run{`"command":" make all"`, `"command":"make","args":["all"]`}, true},
		{run{`"command":["make","all"]`, `"command":"make all"`}, true},
		{run{`"command":"make all"`, `"command":"zsh","args":["-c","make all"]`}, false},
		{run{`"command":"make all"`, `"command":"sh","args":["-e","make all"]`}, false},
		{run{`"command":"make all"`, `"command":"sh","args":["-c","make all","x"]`}, false},
		{run{`"command":"make all"`, `"command":"cmd","args":["/k","make all"]`}, false},
		{run{`"command":"make all"`, `"command":"cmd2","args":["/c","make all"]`}, false},
		{run{`"command":"make all"`, `"command":"make","args":["ALL"]`}, false},
		{run{`"command":"make all"`, `"command":"make all","cwd":"/repo"`}, true},
		{run{`"command":"make all"`, `"command":"make all","cwd":"/repo/sub"`}, false},
		{run{`"command":"make all","cwd":"/repo/sub"`, `"command":"make all","cwd":"/repo/sub"`}, true},
		{run{`"command":"make all","cwd":"sub"`, `"command":"make all","cwd":"/repo/sub"`}, true},
		{run{`"command":"make all","cwd":"/elsewhere"`, `"command":"make all"`}, false},
		{run{`"command":"make all","env":{"B":"2","A":"1"}`, `"command":"make all","env":[{"name":"B","value":"2"},{"name":"A","value":"1"}]`}, true},
		{run{`"command":"make all","env":{"A":"1"}`, `"command":"make all"`}, false},
		{run{`"command":"make all","env":{"A":"1"}`, `"command":"make all","env":[{"name":"A","value":"2"}]`}, false},
	} {
		ws := newWorkspace(t, workspace.MemoryPrint("", 0))
		require.NoError(t, ws.Disk().WriteFile("/repo/sub/x", []byte("x"), 0o644))
		p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "reject_once", "reject_once"}}
		_, said := work(t, p, ws, func(a *raw) {
			a.ask(`{"toolCallId":"c","title":"Run","rawInput":{` + c.shown + `}}`)
			a.create(c.runs)
			a.create(c.runs) // it was allowed once
		})
		require.Equal(t, c.same, strings.HasPrefix(said, "started\n"), "%v: %s", c.run, said)
		require.Contains(t, said, "the user did not allow this: Run ")
		require.NotContains(t, strings.TrimPrefix(said, "started\n"), "started")
	}
}

// What becomes of a file is what was shown: whole files, parts that occur once, and several parts in their order.
func TestChangesThatWereShownAreRecognised(t *testing.T) {
	part := func(path, old, now string) string {
		if old == "-" {
			return fmt.Sprintf(`{"type":"diff","path":%q,"newText":%q}`, path, now)
		}
		return fmt.Sprintf(`{"type":"diff","path":%q,"oldText":%q,"newText":%q}`, path, old, now)
	}
	const file, all = "/repo/a.txt", "one\ntwo\nthree\n"
	for name, c := range map[string]struct {
		shown []string
		path  string
		now   string
		same  bool
	}{
		"a part":                   {[]string{part(file, "two", "2")}, file, "one\n2\nthree\n", true},
		"the whole":                {[]string{part(file, all, "x")}, file, "x", true},
		"two parts":                {[]string{part(file, "one", "1"), part(file, "three", "3")}, file, "1\ntwo\n3\n", true},
		"a part of a part":         {[]string{part(file, "two", "2 and 5"), part(file, "5", "6")}, file, "one\n2 and 6\nthree\n", true},
		"by another name":          {[]string{part("/repo/./a.txt", "two", "2")}, file, "one\n2\nthree\n", true},
		"beside another file":      {[]string{part("/repo/b.txt", "x", "y"), part(file, "two", "2")}, file, "one\n2\nthree\n", true},
		"a new file":               {[]string{part("/repo/new.txt", "-", "new")}, "/repo/new.txt", "new", true},
		"a new file, empty before": {[]string{part("/repo/new.txt", "", "new")}, "/repo/new.txt", "new", true},
		"only one of two":          {[]string{part(file, "one", "1"), part(file, "three", "3")}, file, "1\ntwo\nthree\n", false},
		"a part that occurs twice": {[]string{part(file, "o", "0")}, file, "0ne\ntwo\nthree\n", false},
		"a part that is not there": {[]string{part(file, "four", "4")}, file, all + "4", false},
		"another file":             {[]string{part("/repo/b.txt", "two", "2")}, file, "one\n2\nthree\n", false},
		"another content":          {[]string{part(file, "two", "2")}, file, "one\n22\nthree\n", false},
		"no part":                  {[]string{part(file, "", "x")}, file, "x" + all, false},
		"outside":                  {[]string{part("/x/a.txt", "two", "2")}, file, "one\n2\nthree\n", false},
	} {
		p := &asked{kinds: []acp.PermissionOptionKind{"allow_once", "reject_once", "reject_once"}}
		_, said := work(t, p, newWorkspace(t, nil), func(a *raw) {
			a.ask(`{"toolCallId":"c","title":"Edit","content":[` + strings.Join(c.shown, ",") + `]}`)
			a.writeFile(c.path, c.now)
			a.writeFile(c.path, "else") // it was allowed once
		})
		require.Equal(t, c.same, strings.HasPrefix(said, "written\n"), "%s: %s", name, said)
		require.NotContains(t, strings.TrimPrefix(said, "written\n"), "written", name)
	}
}

// The end of an output that fits the agent's limit begins and ends with whole characters, and is said to be cut.
func TestOutputsAreCutForAgents(t *testing.T) {
	for _, c := range []struct {
		output string
		limit  string
		want   string
	}{
		{"one two", ``, `{"output":"one two","truncated":false,"exitStatus":{"exitCode":0}}`},
		{"one two", `,"outputByteLimit":7`, `{"output":"one two","truncated":false,"exitStatus":{"exitCode":0}}`},
		{"one two", `,"outputByteLimit":6`, `{"output":"ne two","truncated":true,"exitStatus":{"exitCode":0}}`},
		{"one two", `,"outputByteLimit":0`, `{"output":"o","truncated":true,"exitStatus":{"exitCode":0}}`},
		{"öäü", `,"outputByteLimit":6`, `{"output":"öäü","truncated":false,"exitStatus":{"exitCode":0}}`},
		{"öäü", `,"outputByteLimit":5`, `{"output":"äü","truncated":true,"exitStatus":{"exitCode":0}}`},
		{"öäü", `,"outputByteLimit":4`, `{"output":"äü","truncated":true,"exitStatus":{"exitCode":0}}`},
		{"x🙂", `,"outputByteLimit":4`, `{"output":"🙂","truncated":true,"exitStatus":{"exitCode":0}}`},
		{"x🙂y", `,"outputByteLimit":4`, `{"output":"y","truncated":true,"exitStatus":{"exitCode":0}}`},
		{"x🙂y", `,"outputByteLimit":2`, `{"output":"y","truncated":true,"exitStatus":{"exitCode":0}}`},
		{"\xff\xfe", ``, `{"output":"\ufffd","truncated":false,"exitStatus":{"exitCode":0}}`},
		{"ab\x80\x80\x80\x80z", `,"outputByteLimit":5`, `{"output":"\ufffdz","truncated":true,"exitStatus":{"exitCode":0}}`},
	} {
		p := &asked{}
		_, said := work(t, p, newWorkspace(t, workspace.MemoryPrint(c.output, 0)), func(a *raw) {
			var created struct{ TerminalID string }
			_ = json.Unmarshal(a.create(`"command":"go"`+c.limit).Result, &created)
			params := `{"sessionId":"s","terminalId":"` + created.TerminalID + `"}`
			a.call("terminal/wait_for_exit", params)
			a.say(string(a.call("terminal/output", params).Result))
		})
		_, got, _ := strings.Cut(said, "\n")
		require.JSONEq(t, c.want, got, "%q %s", c.output, c.limit)
	}
}

// What is wrong with a path or a command is told with the code of its kind.
func TestAgentsHearWhyTheWorkspaceRefuses(t *testing.T) {
	ws := newWorkspace(t, workspace.MemoryPrint("", 0))
	require.NoError(t, ws.Disk().WriteFile("/repo/binary", []byte("\xff\xfe\x00"), 0o644))
	_, said := work(t, &asked{}, ws, func(a *raw) {
		for _, request := range []struct{ method, params string }{
			{"fs/read_text_file", `"path":"/etc/passwd"`}, {"fs/read_text_file", `"path":"a.txt"`}, {"fs/read_text_file", `"path":""`}, {"fs/write_text_file", `"path":"/etc/x","content":""`},
			{"fs/write_text_file", `"path":"/repo","content":""`}, {"fs/write_text_file", `"path":"/repo/binary","content":"x"`}, {"terminal/create", `"command":""`},
			{"terminal/create", `"command":"go","cwd":"/etc"`}, {"terminal/output", `"terminalId":"t"`},
		} {
			m := a.call(request.method, `{"sessionId":"s",`+request.params+`}`)
			if m.Error == nil {
				a.say(string(m.Result) + "\n")
			} else {
				a.say(fmt.Sprintf("%d %s\n", m.Error.Code, m.Error.Message))
			}
		}
	})
	require.Equal(t, `-32602 read /etc/passwd: the path lies outside of the session's directories
{"content":"one\ntwo\nthree\n"}
-32602 read : the path is empty
-32602 write /etc/x: the path lies outside of the session's directories
-32602 write /repo: is a directory
{}
-32602 run : malformed command: it is empty
-32602 run a command in /etc: the path lies outside of the session's directories
-32002 there is no terminal "t"
`, said)
}

// A command that a person may carry out at once is known, and what the agent says of it is returned.
func TestCommandsAtOnceAreCarriedOut(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		p := a.await("_ponte-go.dev/command")
		a.answer(p, fmt.Sprintf(`{"text":%q}`, p.Params))
		a.fail(a.await("_ponte-go.dev/command"), `{"code":-32601,"message":"unknown"}`)
		a.wait()
	})
	text, err := s.Command(t.Context(), "/usage")
	require.NoError(t, err)
	require.JSONEq(t, `{"sessionId":"s","command":"/usage"}`, text)
	_, err = s.Command(t.Context(), "/usage")
	require.EqualError(t, err, "acpclient: _ponte-go.dev/command: unknown (-32601)")
}

// Settings and commands come as the agent describes them. A setting of an unknown kind is left out, because nobody could set it.
func TestSettingsAndCommandsAreShown(t *testing.T) {
	s := begin(t, acpclient.Config{}, func(a *raw) {
		a.open()
		a.turn(func() {
			a.update(`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"plan","description":"Plan.","input":{"hint":"what"}},{"name":"usage","description":"Usage.","_meta":{"ponte-go.dev/atOnce":true}},{"name":"x","description":"","_meta":{"ponte-go.dev/atOnce":false}}]}`)
			a.update(strings.ReplaceAll(`{"sessionUpdate":"config_option_update","configOptions":[
				{"id":"on","name":"On","description":"Is it?","category":"c","type":"boolean","currentValue":true},{"id":"off","name":"Off","type":"boolean","currentValue":false},
				{"id":"m","name":"Model","type":"select","currentValue":"b","options":[{"value":"a","name":"A","description":"First."},{"value":"b","name":"B"}]},
				{"id":"g","name":"Grouped","type":"select","currentValue":"c","options":[{"group":"x","name":"X","options":[{"value":"c","name":"C"}]},{"group":"y","name":"Y","options":[{"value":"d","name":"D"}]}]},
				{"id":"new","name":"New","type":"dial","currentValue":7}]}`, "\n", ""))
		})
		a.wait()
	})
	turn, err := s.Say(t.Context(), "hello")
	require.NoError(t, err)
	var settings []view.Setting
	var commands []view.SlashCommand
	for e := range turn.Snapshot.All() {
		if e.Settings != nil {
			settings = e.Settings
		}
		if e.Slash != nil {
			commands = e.Slash
		}
	}
	require.Equal(t, []view.SlashCommand{{Name: "plan", Description: "Plan.", Hint: "what"}, {Name: "usage", Description: "Usage.", AtOnce: true}, {Name: "x"}}, commands)
	require.Equal(t, []view.Setting{
		{ID: "on", Title: "On", Description: "Is it?", Category: "c", Switch: true, Value: "true"}, {ID: "off", Title: "Off", Switch: true, Value: "false"},
		{ID: "m", Title: "Model", Value: "b", Choices: []view.Choice{{ID: "a", Title: "A", Description: "First."}, {ID: "b", Title: "B"}}},
		{ID: "g", Title: "Grouped", Value: "c", Choices: []view.Choice{{ID: "c", Title: "C", Group: "X"}, {ID: "d", Title: "D", Group: "Y"}}},
	}, settings)
}

func TestOptionsAreChosenByTheirKinds(t *testing.T) {
	r := &acpclient.PermissionRequest{Options: []acp.PermissionOption{
		{OptionID: "n", Kind: acp.PermissionOptionKindRejectOnce}, {OptionID: "ever", Kind: acp.PermissionOptionKindAllowAlways},
		{OptionID: "once", Kind: acp.PermissionOptionKindAllowOnce}, {OptionID: "once more", Kind: acp.PermissionOptionKindAllowOnce},
	}}
	require.Equal(t, acp.PermissionOptionID("once"), r.Option(acp.PermissionOptionKindAllowOnce, acp.PermissionOptionKindAllowAlways))
	require.Equal(t, acp.PermissionOptionID("ever"), r.Option(acp.PermissionOptionKindAllowAlways, acp.PermissionOptionKindAllowOnce))
	require.Equal(t, acp.PermissionOptionID("n"), r.Option(acp.PermissionOptionKindRejectAlways, acp.PermissionOptionKindRejectOnce))
	require.Empty(t, r.Option(acp.PermissionOptionKindRejectAlways))
	require.Empty(t, r.Option())
	for _, c := range []struct {
		f    acpclient.PermissionFunc
		want acp.PermissionOptionID
	}{{acpclient.AllowAll, "once"}, {acpclient.RejectAll, "n"}} {
		id, err := c.f(context.Background(), r)
		require.NoError(t, err)
		require.Equal(t, c.want, id)
	}
}
