// SPDX-License-Identifier: Apache-2.0

package acpclient

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// What an agent has said is passed on once, as text and thoughts of the response, and nothing else is.
func TestPiecesAreToldOnce(t *testing.T) {
	var got []string
	stop := errors.New("stop")
	var fails bool
	told := &telling{parts: map[string]*toldPart{}, sink: func(d model.Delta) error {
		got = append(got, fmt.Sprintf("%d %s %q", d.Part, d.Kind, d.Text))
		if fails {
			return stop
		}
		return nil
	}}
	entity := func(id string, kind view.Kind, role view.Role, text string) view.Change {
		e := &view.Entity{ID: id, Kind: kind, Role: role}
		if text != "" {
			e.Content = []view.Content{{Kind: view.Text, Text: text}}
		}
		return view.Change{Entity: e}
	}
	update := func(all ...view.Change) error { return told.update(&view.Update{Changes: all}) }
	require.NoError(t, update(view.Change{Op: view.Remove, ID: "x"}, entity("m", view.Message, view.Assistant, ""), entity("u", view.Message, view.User, "user"), entity("c", view.ToolCall, "", "call"), entity("t", view.Thought, "", "hm")))
	require.NoError(t, update(entity("m", view.Message, view.Assistant, "one"), entity("t", view.Thought, "", "hm"), entity("m", view.Message, view.Assistant, "on")))
	require.NoError(t, update(entity("m", view.Message, view.Assistant, "one two"), entity("t", view.Thought, "", "hmm"), entity("n", view.Message, view.Assistant, "next")))
	require.Equal(t, []string{`0 thinking "hm"`, `1 text "one"`, `1 text " two"`, `0 thinking "m"`, `2 text "next"`}, got)
	fails, got = true, nil
	require.ErrorIs(t, update(entity("m", view.Message, view.Assistant, "one two three"), entity("n", view.Message, view.Assistant, "next one")), stop)
	require.Len(t, got, 1)
}

// Tokens and cost that an agent reports count for the run, the cost once, and end it at its limits.
func TestWhatAgentsUseCounts(t *testing.T) {
	turn := func(u *TurnUsage) *Turn { return &Turn{Usage: u} }
	used := &TurnUsage{InputTokens: 3, OutputTokens: 4, TotalTokens: 7}
	require.NoError(t, (&call{}).count(turn(used)))
	require.NoError(t, (&call{}).spent(&view.Tokens{Cost: 1, Currency: "USD"}))
	meter := &toolset.Meter{}
	c := &call{meter: meter}
	require.NoError(t, c.count(turn(nil)))
	require.Equal(t, toolset.Usage{}, meter.Usage())
	require.NoError(t, c.count(turn(used)))
	require.NoError(t, c.spent(&view.Tokens{Cost: 2, Currency: "USD"}))
	require.NoError(t, c.spent(&view.Tokens{Cost: 2, Currency: "USD"}))
	require.NoError(t, c.spent(&view.Tokens{Cost: 1, Currency: "USD"}))
	require.NoError(t, c.spent(&view.Tokens{Cost: 9, Currency: "EUR"}))
	require.NoError(t, c.spent(&view.Tokens{Cost: 2.5, Currency: "USD"}))
	require.Equal(t, toolset.Usage{Usage: model.Usage{InputTokens: 3, OutputTokens: 4}, Cost: 2.5}, meter.Usage())
	require.Nil(t, c.limit(nil))
	require.Nil(t, c.limit(errors.New("because")))
}

// Lines that an agent prints are told one by one. Those of more than 8 KiB are taken apart.
func TestLongLinesAreTakenApart(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p := &process{stderr: r, drained: make(chan struct{})}
	var told []string
	go p.collect(func(line string) { told = append(told, line) })
	long := strings.Repeat("x", 8<<10)
	for _, text := range []string{"one\n\ntwo\r\n", long + "\n", long + "y\n", "no end"} {
		_, err = io.WriteString(w, text)
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	<-p.drained
	cut := long[:400] + "…"
	require.Equal(t, []string{"one", "two", cut, cut, "y", "no end"}, told)
	require.Equal(t, told, p.last.all())
	require.NoError(t, r.Close())
}

// The last lines of an agent are kept, without secrets and blanks, and each is cut.
func TestLastLinesAreKept(t *testing.T) {
	l := lines{secrets: secrets([]string{"API_KEY=sesame-sesame", "MY_TOKEN=short", "OTHER_TOKEN=longer", "PLAIN=plainly"})}
	whole := lines{secrets: secrets([]string{"A_TOKEN=sesame-9f31", "B_TOKEN=sesame", "C_TOKEN=sesame-9f31-more"})}
	require.Equal(t, "[secret] [secret] [secret]", whole.add([]byte("sesame-9f31 sesame sesame-9f31-more")))
	require.Empty(t, l.add([]byte(" \t\r\n")))
	require.Nil(t, l.all())
	require.Equal(t, "[secret] short [secret] plainly", l.add([]byte("  sesame-sesame short longer plainly\r\n")))
	require.Equal(t, strings.Repeat("x", 400), l.add(bytes.Repeat([]byte("x"), 400)))
	require.Equal(t, strings.Repeat("x", 400)+"…", l.add(bytes.Repeat([]byte("x"), 401)))
	require.Equal(t, strings.Repeat("x", 399)+"…", l.add([]byte(strings.Repeat("x", 399)+"ß")), "characters stay whole")
	require.Equal(t, "a⟨ESC⟩b", l.add([]byte("a\x1bb")))
	far := strings.Repeat("sesame-sesame", 1000)
	require.LessOrEqual(t, len(l.add([]byte(far))), 403)
	for i := range 13 {
		l.add([]byte(fmt.Sprint("line ", i)))
	}
	all := l.all()
	require.Len(t, all, 12)
	require.Equal(t, "line 1", all[0])
	require.Equal(t, "line 12", all[11])
	all[0] = "changed"
	require.Equal(t, "line 1", l.all()[0])
	for n, want := range map[int]string{6398: "[secret]yz", 6399: "[secret]y", 6400: "[secret]"} {
		secret := strings.Repeat("s", n)
		long := lines{secrets: secrets([]string{"API_KEY=" + secret})}
		require.Equal(t, want, long.add([]byte(secret+"yzz")), "6,400 bytes of a line are looked at")
	}
	var plain lines
	require.Equal(t, "sesame-sesame", plain.add([]byte("sesame-sesame")))
}

// The end of an installer's output is kept, a thousand bytes of it, on one line.
func TestEndsOfInstallersAreKept(t *testing.T) {
	var one tail
	for _, text := range []string{"first\n", strings.Repeat("x", 994), "y"} {
		n, err := one.Write([]byte(text))
		require.NoError(t, err)
		require.Equal(t, len(text), n)
	}
	require.Equal(t, "irst "+strings.Repeat("x", 994)+"y", one.String())
	n, err := one.Write(bytes.Repeat([]byte("z"), 1001))
	require.NoError(t, err)
	require.Equal(t, 1001, n)
	require.Equal(t, strings.Repeat("z", 1000), one.String())
}

// What an archive would do beyond its bounds, or after its time, is refused with a reason.
func TestBoundsOfArchives(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	require.NoError(t, err)
	defer root.Close()
	archive := func(all ...tar.Header) *tar.Reader {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for i := range all {
			all[i].Size = int64(len(all[i].Linkname)) * map[bool]int64{true: 1}[all[i].Typeflag == tar.TypeReg]
			link := all[i].Linkname
			if all[i].Typeflag == tar.TypeReg {
				all[i].Linkname = ""
			}
			require.NoError(t, w.WriteHeader(&all[i]))
			if all[i].Typeflag == tar.TypeReg {
				_, _ = io.WriteString(w, link)
			}
		}
		require.NoError(t, w.Close())
		return tar.NewReader(&b)
	}
	file := func(name, text string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Linkname: text, Mode: 0o600}
	}
	unpacks := func(u *unpacker, all ...tar.Header) error {
		u.to = root
		if u.ctx == nil {
			u.ctx = t.Context()
		}
		return u.tar(archive(all...))
	}
	require.NoError(t, unpacks(&unpacker{left: 5}, file("fits", "12345"), tar.Header{Typeflag: tar.TypeDir, Name: "./"}, tar.Header{Typeflag: tar.TypeDir, Name: "dir/"}))
	require.EqualError(t, unpacks(&unpacker{left: 4}, file("large", "12345")), "the archive has more than 4294967296 bytes in it")
	require.EqualError(t, unpacks(&unpacker{left: 8}, file("one", "12345"), file("two", "1234")), "the archive has more than 4294967296 bytes in it")
	require.NoError(t, unpacks(&unpacker{left: 9, entries: maxEntries - 2}, file("three", "12345"), file("four", "1234")))
	require.EqualError(t, unpacks(&unpacker{left: 9, entries: maxEntries - 1}, file("five", "12345"), file("six", "1234")), "the archive has more than 200000 files")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, unpacks(&unpacker{left: 9, ctx: ctx}, file("late", "1")), context.Canceled)
	for name, all := range map[string][]tar.Header{
		`"../x" leads out of the archive`:                              {file("../x", "x")},
		`"/x" leads out of the archive`:                                {tar.Header{Typeflag: tar.TypeDir, Name: "/x"}},
		`"link" is a link that leads out of the archive`:               {tar.Header{Typeflag: tar.TypeSymlink, Name: "link", Linkname: "../x"}},
		`"sub/link" is a link that leads out of the archive`:           {tar.Header{Typeflag: tar.TypeSymlink, Name: "sub/link", Linkname: "/etc"}},
		`"../link" leads out of the archive`:                           {tar.Header{Typeflag: tar.TypeSymlink, Name: "../link", Linkname: "x"}},
		`"fifo" is neither a file nor a directory`:                     {tar.Header{Typeflag: tar.TypeFifo, Name: "fifo"}},
		`"hard" is neither a file nor a directory`:                     {tar.Header{Typeflag: tar.TypeLink, Name: "hard", Linkname: "fits"}},
		`openat fits: file exists`:                                     {file("fits", "again")},
		`mkdirat fits/below: not a directory`:                          {tar.Header{Typeflag: tar.TypeDir, Name: "fits/below/x"}},
		`"` + strings.Repeat("n", 100) + `…" leads out of the archive`: {file(strings.Repeat("n", 101)+":", "x")},
	} {
		err := unpacks(&unpacker{left: 1000}, all...)
		if strings.Contains(name, "at fits") { // in the words of the system
			require.Error(t, err)
			continue
		}
		require.EqualError(t, err, name)
	}
	require.NoError(t, unpacks(&unpacker{left: 9}, tar.Header{Typeflag: tar.TypeSymlink, Name: "dir/up", Linkname: "../fits"}))
	target, err := root.Readlink("dir/up")
	require.NoError(t, err)
	require.Equal(t, "../fits", target)
	require.ErrorIs(t, unpacks(&unpacker{left: 9}, file("cut", "12")), nil)
	require.Error(t, (&unpacker{ctx: t.Context(), to: root}).tar(tar.NewReader(strings.NewReader(strings.Repeat("x", 600)))))
}

// What is no archive of its format is an error, and anything else is the program itself.
func TestArchivesThatAreNone(t *testing.T) {
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	for _, format := range []string{".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ""} {
		f, err := os.CreateTemp(t.TempDir(), "")
		require.NoError(t, err)
		_, err = f.WriteString("#!/bin/sh\n")
		require.NoError(t, err)
		_, err = f.Seek(0, io.SeekStart)
		require.NoError(t, err)
		err = unpack(t.Context(), format, f, 10, root, "bin/program")
		require.Equal(t, format != "", err != nil, format)
		require.NoError(t, f.Close())
	}
	data, err := os.ReadFile(filepath.Join(dir, "bin", "program"))
	require.NoError(t, err)
	require.Equal(t, "#!/bin/sh\n", string(data))
	for address, want := range map[string]string{
		"https://x/a.zip": ".zip", "https://x/a.ZIP?b=c.tgz": ".zip", "https://x/a.tar.gz": ".tar.gz", "https://x/a.TGZ": ".tgz", "https://x/a.tar.bz2#x": "", "https://x/a.tar.bz2": ".tar.bz2", "https://x/a.tbz2": ".tbz2",
		"https://x/a?b.zip": "", "https://x/a.exe": "",
	} {
		require.Equal(t, want, format(address), address)
	}
}

// A policy decides before a person is asked, and a question that nobody waits for is withdrawn.
func TestPoliciesDecideFirst(t *testing.T) {
	var told strings.Builder
	d := newDesk(t, &told, Config{}, map[string]string{"a.txt": "a"})
	d.answer = chooses("allow_once")
	for verdict, want := range map[toolset.Verdict]string{toolset.VerdictDeny: "the user did not allow this: Write", toolset.VerdictAllow: ""} {
		d := newDesk(t, &told, Config{}, map[string]string{"a.txt": "a"})
		a := toolset.Approval{Title: "Write  \n", Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/a.txt", New: new("b")}}}}
		rule := a
		workspace.DefaultScope(t.Context(), d.s.workspace, toolWrite, &rule)
		d.s.policy.RememberApproval(toolWrite, &rule, verdict)
		err := d.s.permit(t.Context(), toolWrite, &a)
		if want == "" {
			require.NoError(t, err)
		} else {
			require.EqualError(t, err, "acp: "+want+" (-32600)")
		}
	}
	require.Empty(t, told.String(), "nobody is asked")
	// Another question is open, and this one's context ends.
	blocked, release := make(chan struct{}), make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = d.s.policy.AskOnce(t.Context(), "other", []string{"x"}, func(context.Context) (toolset.Verdict, error) {
			close(blocked)
			<-release
			return toolset.VerdictDeny, nil
		})
	}()
	<-blocked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a := toolset.Approval{Title: "Write", Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "/repo/b.txt", New: new("b")}}}}
	err := d.s.permit(ctx, toolWrite, &a)
	close(release)
	<-done
	require.EqualError(t, err, "acp: the question was withdrawn (-32800)")
	require.Empty(t, told.String())
}

// What a client announces depends on what it has.
func TestClientsAnnounceWhatTheyHave(t *testing.T) {
	var told strings.Builder
	d := newDesk(t, &told, Config{}, nil)
	w := d.s.workspace.(*noting)
	c := d.s.client
	announced := func() string {
		data, err := acp.Marshal(new(c.capabilities()))
		require.NoError(t, err)
		return string(data)
	}
	const rest = `"session":{"compaction":{},"notices":{},"configOptions":{"boolean":{}}}`
	w.features = workspace.Features{Read: true}
	require.JSONEq(t, `{"fs":{"readTextFile":true,"writeTextFile":false},"terminal":false,"auth":{"terminal":false},`+rest+`}`, announced())
	w.features = workspace.Features{Write: true, Commands: true, Sandboxed: true, Unsandboxed: true}
	require.JSONEq(t, `{"fs":{"readTextFile":false,"writeTextFile":true},"terminal":true,"auth":{"terminal":false},`+rest+`}`, announced())
	c.config.Trusted = true
	require.JSONEq(t, `{"fs":{"readTextFile":false,"writeTextFile":true},"terminal":true,"auth":{"terminal":false},"_meta":{"ponte.sandbox":{"leave":true}},`+rest+`}`, announced())
	c.config.Turns = true
	require.JSONEq(t, `{"fs":{"readTextFile":false,"writeTextFile":true},"terminal":true,"auth":{"terminal":false},"_meta":{"ponte.sandbox":{"leave":true},"ponte-go.dev/turns":true},`+rest+`}`, announced())
	c.config.Workspace, c.config.TerminalLogin = nil, true
	require.JSONEq(t, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"auth":{"terminal":false},"_meta":{"ponte-go.dev/turns":true},`+rest+`}`, announced())
	c.process, c.config.Turns = &process{}, false
	require.JSONEq(t, `{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"auth":{"terminal":true},`+rest+`}`, announced())
	require.Same(t, c.hello, c.Agent())
}
