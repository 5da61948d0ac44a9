// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/internal/term/plain"
	"github.com/ponte-go/ponte/app/internal/term/screen"
	"github.com/ponte-go/ponte/toolset"
)

// TestFormsAreShownBeforeTheyAreFilledIn compares the whole question before a form and an address, and what its answers give.
func TestFormsAreShownBeforeTheyAreFilledIn(t *testing.T) {
	form := &acp.ElicitationSchema{
		Title: new("Travel"), Description: new("Two fields."),
		Properties: map[string]acp.ElicitationPropertySchema{"city": {String: &acp.StringPropertySchema{Title: new("City")}}}, Required: []string{"city"},
	}
	bare := &acp.ElicitationSchema{Title: new(""), Description: new("")}
	for _, c := range []struct {
		e          acpclient.Elicitation
		about, yes string
	}{
		{acpclient.Elicitation{Message: "Where?", Form: form}, "The agent asks: Where?\nTravel\nTwo fields.\n  City\n  (text)", "Fill in the form"},
		{acpclient.Elicitation{Message: "Where?", Form: bare}, "The agent asks: Where?", "Fill in the form"},
		{acpclient.Elicitation{Message: "Where?", Form: new(acp.ElicitationSchema)}, "The agent asks: Where?", "Fill in the form"},
		{acpclient.Elicitation{Message: "Visit", URL: "https://a.example"}, "The agent asks: Visit\nOpen this address in a browser, and answer when you are done there:\nhttps://a.example", "Done"},
	} {
		c.e.Session = new(acpclient.Session)
		r := asked(&c.e)
		require.Equal(t, &acpclient.PermissionRequest{
			Session: c.e.Session, Approval: toolset.Approval{Preview: []toolset.Preview{{Text: c.about}}}, Options: []acp.PermissionOption{
				{OptionID: "accept", Name: c.yes, Kind: acp.PermissionOptionKindAllowOnce}, {OptionID: "decline", Name: "Decline", Kind: acp.PermissionOptionKindRejectOnce},
			},
		}, r)
	}
	answered := func(e acpclient.Elicitation, option acp.PermissionOptionID, lines ...string) (acpclient.Answer, []string) {
		var shown []string
		return fill(&e, func(*acpclient.PermissionRequest) acp.PermissionOptionID { return option }, func(about []string) (string, bool) {
			shown = append(shown, strings.Join(about, "|"))
			if len(lines) == 0 {
				return "", false
			}
			line := lines[0]
			lines = lines[1:]
			return line, true
		}), shown
	}
	a, shown := answered(acpclient.Elicitation{Form: form}, "decline", "Oslo")
	require.Equal(t, acpclient.Answer{Action: toolset.ActionDecline}, a)
	require.Empty(t, shown)
	a, _ = answered(acpclient.Elicitation{Form: form}, "", "Oslo")
	require.Equal(t, acpclient.Answer{Action: toolset.ActionCancel}, a)
	a, _ = answered(acpclient.Elicitation{URL: "https://a.example"}, "accept")
	require.Equal(t, acpclient.Answer{Action: toolset.ActionAccept}, a)
	a, shown = answered(acpclient.Elicitation{Form: form}, "accept", "", "Oslo")
	require.Equal(t, acpclient.Answer{Action: toolset.ActionAccept, Content: map[string]acp.ElicitationContentValue{"city": {String: new("Oslo")}}}, a)
	require.Equal(t, []string{"City|(text)", "City|(text)|! City is required"}, shown)
	a, shown = answered(acpclient.Elicitation{Form: form}, "accept", "")
	require.Equal(t, acpclient.Answer{Action: toolset.ActionCancel}, a, "there is no further line")
	require.Len(t, shown, 2)
	form.Required = nil
	a, _ = answered(acpclient.Elicitation{Form: form}, "accept", "")
	require.Equal(t, acpclient.Answer{Action: toolset.ActionAccept, Content: map[string]acp.ElicitationContentValue{}}, a, "it was left out")
}

// library is an agent with sessions, some on each page.
type library struct {
	acp.UnimplementedAgent
	pages [][]acp.SessionInfo
	fails bool
}

func (a *library) Initialize(context.Context, *acp.InitializeRequest) (*acp.InitializeResponse, error) {
	hello := &acp.InitializeResponse{ProtocolVersion: acp.Version}
	hello.AgentCapabilities.SessionCapabilities.List = &acp.SessionListCapabilities{}
	return hello, nil
}

func (a *library) NewSession(context.Context, *acp.NewSessionRequest) (*acp.NewSessionResponse, error) {
	return &acp.NewSessionResponse{SessionID: "now"}, nil
}

func (a *library) ListSessions(_ context.Context, r *acp.ListSessionsRequest) (*acp.ListSessionsResponse, error) {
	page := 0
	if r.Cursor != nil {
		_, _ = fmt.Sscan(*r.Cursor, &page)
	}
	if page == len(a.pages) || a.fails {
		return nil, acp.Errorf(acp.CodeInternal, "the shelf is empty")
	}
	res := &acp.ListSessionsResponse{Sessions: a.pages[page]}
	if page+1 < len(a.pages) || a.fails {
		res.NextCursor = new(fmt.Sprint(page + 1))
	}
	return res, nil
}

// reader connects to a library.
func reader(t *testing.T, a *library) *acpclient.Client {
	t.Helper()
	agentIn, clientOut := acp.Pipe()
	clientIn, agentOut := acp.Pipe()
	conn := acp.NewAgentConn(agentIn, agentOut, func(*acp.AgentConn) acp.Agent { return a }, nil)
	go func() { _ = conn.Serve(context.WithoutCancel(t.Context())) }()
	client, err := acpclient.Connect(t.Context(), clientIn, clientOut, acpclient.Config{})
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

// TestSessionsAreListedForPeople has sessions with and without titles and times, the one that is open, and more than are shown.
func TestSessionsAreListedForPeople(t *testing.T) {
	a := &library{pages: [][]acp.SessionInfo{
		{{SessionID: "now", Cwd: "/d"}, {SessionID: "a", Cwd: "/d", Title: new("A\x1b[2J\nb"), UpdatedAt: new("2026-01-02T12:00:00Z")}, {SessionID: "b", Cwd: "/d", Title: new(""), UpdatedAt: new("yester\nday")}},
		{{SessionID: "c", Cwd: "/d"}},
	}}
	client := reader(t, a)
	all, err := sessionsOf(t.Context(), client, "/d", "now")
	require.NoError(t, err)
	when := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC).Local().Format("2006-01-02 15:04")
	require.Equal(t, []screen.Session{{ID: "a", Title: "A⟨ESC⟩[2J⟨LF⟩b", When: when}, {ID: "b", Title: "(no title)", When: "yester⟨LF⟩day"}, {ID: "c", Title: "(no title)"}}, all)
	all, err = sessionsOf(t.Context(), client, "/d", "c")
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.Equal(t, "now", all[0].ID)
	for n, want := range map[int]int{19: 19, 20: 20, 21: 20} {
		a.pages = [][]acp.SessionInfo{nil, nil}
		for i := range n {
			a.pages[i%2] = append(a.pages[i%2], acp.SessionInfo{SessionID: acp.SessionID(fmt.Sprint("s", i)), Cwd: "/d"})
		}
		all, err = sessionsOf(t.Context(), client, "/d", "now")
		require.NoError(t, err)
		require.Len(t, all, want)
	}
	a.fails = true
	all, err = sessionsOf(t.Context(), client, "/d", "now")
	require.ErrorContains(t, err, "the shelf is empty")
	require.Nil(t, all)

	talk := &talk{listed: []screen.Session{{ID: "a"}, {ID: "b"}}}
	for number, want := range map[string]string{"1": "a", "2": "b", "0": "", "3": "", "-1": "", "x": "", "": ""} {
		id, err := talk.numbered(number)
		require.Equal(t, want, string(id))
		if want == "" {
			require.EqualError(t, err, "/sessions "+number+": /sessions alone lists them, with numbers")
		}
	}
}

// TestQuestionsThatCannotBeAllowed has a question without an option that allows it, and one that was withdrawn before it was shown.
func TestQuestionsThatCannotBeAllowed(t *testing.T) {
	session, err := reader(t, new(library)).NewSession(t.Context(), acpclient.SessionConfig{Cwd: "/d"})
	require.NoError(t, err)
	allow := acp.PermissionOption{OptionID: "yes", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce}
	reject := acp.PermissionOption{OptionID: "no", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce}
	gone, withdraw := context.WithCancel(t.Context())
	withdraw()
	for _, c := range []struct {
		ctx     context.Context
		config  Config
		options []acp.PermissionOption
		option  string
		refused bool
		out     string
	}{
		{t.Context(), Config{AllowAll: true}, []acp.PermissionOption{reject}, "no", true, "-yes: there is no option that allows this."},
		{t.Context(), Config{AllowAll: true}, []acp.PermissionOption{reject, allow}, "yes", false, "-yes: Allow"},
		{t.Context(), Config{AllowAll: true}, nil, "", true, "-yes: there is no option that allows this."},
		{t.Context(), Config{}, []acp.PermissionOption{allow, reject}, "no", true, "Rejected: no one can be asked because standard input is not a terminal. Use -yes to allow everything."},
		{t.Context(), Config{Person: true}, nil, "", true, "Rejected: no one can be asked because standard input is not a terminal. Use -yes to allow everything."},
		{gone, Config{AllowAll: true}, []acp.PermissionOption{allow}, "", false, ""},
	} {
		var out bytes.Buffer
		talk := &talk{config: &c.config, session: session, out: plain.New(&out, false, "/d")}
		option, err := talk.permission(c.ctx, &acpclient.PermissionRequest{Options: c.options, Approval: toolset.Approval{Title: "Pay"}})
		require.NoError(t, err)
		require.Equal(t, c.option, string(option))
		require.Equal(t, c.refused, talk.refused)
		require.Contains(t, out.String(), c.out)
		require.Equal(t, c.out == "", out.Len() == 0)
	}
}

// TestDirectoriesToWorkIn has directories, files, nothing, and copies.
func TestDirectoriesToWorkIn(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	temp := filepath.Join(dir, "temp")
	require.NoError(t, os.Mkdir(temp, 0o700))
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, temp)
	}
	work := filepath.Join(dir, "work")
	require.NoError(t, os.Mkdir(work, 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(work, "a.txt"), []byte("one"), 0o600))
	var told bytes.Buffer
	at, err := directory("desk", work, false, &told)
	require.NoError(t, err)
	require.Equal(t, work, at)
	require.Empty(t, told.String())
	at, err = directory("desk", work, true, &told)
	require.NoError(t, err)
	require.Equal(t, "Working on a copy: "+at+"\n\n", told.String())
	require.Equal(t, "work", filepath.Base(at))
	require.True(t, strings.HasPrefix(at, filepath.Join(temp, "desk-")))
	data, err := os.ReadFile(filepath.Join(at, "a.txt"))
	require.NoError(t, err)
	require.Equal(t, "one", string(data))
	for _, scratch := range []bool{false, true} {
		_, err = directory("desk", filepath.Join(work, "none"), scratch, &told)
		require.ErrorContains(t, err, "-dir: ")
		require.ErrorIs(t, err, os.ErrNotExist)
		_, err = directory("desk", filepath.Join(work, "a.txt"), scratch, &told)
		require.EqualError(t, err, "-dir: "+filepath.Join(work, "a.txt")+" is not a directory")
	}
	for _, name := range []string{"TMPDIR", "TMP", "TEMP"} {
		t.Setenv(name, filepath.Join(dir, "nowhere"))
	}
	_, err = directory("desk", work, true, &told)
	require.ErrorContains(t, err, "-scratch: ")
}

// TestPromptsOfTheCommandLine has words, nothing, and the whole input.
func TestPromptsOfTheCommandLine(t *testing.T) {
	for _, c := range []struct {
		args       []string
		input      string
		want, fail string
	}{
		{nil, "x", "", ""}, {[]string{"Where", "is it?"}, "x", "Where is it?", ""}, {[]string{"-", "x"}, "y", "- x", ""},
		{[]string{"-"}, " one\ntwo\r\n\n", " one\ntwo", ""}, {[]string{"-"}, " \n", " ", "the prompt that was read from the input is empty"}, {[]string{"-"}, "", "", "the prompt that was read from the input is empty"},
	} {
		got, err := (&surface{e: &app.Env{In: strings.NewReader(c.input)}}).prompt(c.args)
		require.Equal(t, c.want, got)
		if c.fail == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, c.fail)
		}
	}
	whole := strings.Repeat("x", maxLine)
	got, err := (&surface{e: &app.Env{In: strings.NewReader(whole)}}).prompt([]string{"-"})
	require.NoError(t, err)
	require.Len(t, got, maxLine)
	_, err = (&surface{e: &app.Env{In: strings.NewReader(whole + "x")}}).prompt([]string{"-"})
	require.EqualError(t, err, "the prompt has more than 33554432 bytes: give the text as a file")
	_, err = (&surface{e: &app.Env{In: iotest.ErrReader(errors.New("on fire"))}}).prompt([]string{"-"})
	require.EqualError(t, err, "on fire")
}

// TestAgentsAreNamedOrCommands has names of the registry, programs, and command lines.
func TestAgentsAreNamedOrCommands(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for line, want := range map[string]acpclient.Command{
		"gemin --acp": {Path: "gemin", Args: []string{"--acp"}}, "A=1 gemin": {Path: "gemin", Env: []string{"A=1"}}, "./gemin": {Path: "./gemin"}, `bin\gemin`: {Path: `bin\gemin`},
	} {
		c, err := otherAgent(line)
		require.NoError(t, err, line)
		require.Equal(t, want.Path, c.Path)
		require.Equal(t, len(want.Args), len(c.Args))
		require.Equal(t, len(want.Env), len(c.Env))
	}
	_, err := otherAgent("gemin")
	unknown, ok := errors.AsType[*acpclient.UnknownAgentError](err)
	require.True(t, ok, "%v", err)
	require.Contains(t, unknown.Near, "gemini")
	_, err = otherAgent("'x")
	require.EqualError(t, err, "a quote is not closed")
	require.False(t, isTerminal(strings.NewReader("")))
	require.False(t, isTerminal((*os.File)(nil)))
	null, err := os.Open(os.DevNull)
	require.NoError(t, err)
	require.False(t, isTerminal(null))
	require.NoError(t, null.Close())
	require.False(t, isTerminal(null), "it is closed")
}
