// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acpproxy"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/agent/view"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/command"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// What an agent names is what its call is about, wherever it names it, and what it has said of a
// call it cannot take back.
func claims(s *suite) {
	config, err := approval.ParseConfig([]byte(rules("auto", `{"decision":"deny","read":"**/.env"}`, `{"decision":"deny","path":"secret/**"}`, `{"decision":"deny","host":"*.evil.example"}`)))
	require.NoError(s, err)
	layer, err := config.Layer("/project")
	require.NoError(s, err)
	try := func(policy acpproxy.Policy, want string, calls ...string) {
		var requests []string
		for i, c := range calls {
			requests = append(requests, asks(i+1, `"title":"Look",`+c))
		}
		for i, outcome := range proxied(s, policy, requests...) {
			s.attack(outcome == want || want == "passed" && outcome == "denied", "%s is %s", calls[i], outcome)
		}
	}
	named := func(kind, file string) (all []string) {
		for _, name := range []string{file, "/project/" + file, "/project/./" + file, "/project/x/../" + file, strings.ToUpper(file)} {
			for _, where := range []string{
				`"locations":[{"path":%q}]`, `"locations":[{"path":"/project/a"},{"path":%q,"line":1}]`, `"rawInput":{"path":%q}`, `"rawInput":{"file_path":%q}`, `"rawInput":{"filePath":%q,"limit":1}`, `"rawInput":{"absolute-path":%q}`, `"rawInput":{"paths":["a",%q]}`,
				`"rawInput":{"path":"a"},"locations":[{"path":%q}]`, `"content":[{"type":"content","content":{"type":"text","text":"a"}}],"rawInput":{"file":%q}`,
			} {
				all = append(all, fmt.Sprintf(`"kind":%q,`+where, kind, name))
			}
		}
		return all
	}
	auto := acpproxy.Layers(layer)
	for _, kind := range []string{"read", "search", "think", "fetch", "execute"} {
		try(auto, "denied", named(kind, ".env")...)
		try(auto, "denied", named(kind, "sub/.env")...)
	}
	for _, kind := range []string{"edit", "delete", "move", "other", "switch_mode"} {
		try(auto, "denied", named(kind, "secret/x")...)
		try(auto, "passed", named(kind, ".envrc")...) // the editor is asked
		try(auto, "passed", named(kind, ".git/config")...)
	}
	for _, kind := range []string{"read", "fetch", "other", "edit", "search"} {
		try(auto, "denied", fmt.Sprintf(`"kind":%q,"rawInput":{"url":"https://a.evil.example/x"}`, kind), fmt.Sprintf(`"kind":%q,"rawInput":{"uri":"http://EVIL.example:80"}`, kind), fmt.Sprintf(`"kind":%q,"rawInput":{"url":"https://u:p@evil.example"}`, kind))
	}
	// What was said before the question.
	readOnly := acpproxy.Layers(approval.ReadOnly())
	update := func(call string) string {
		return `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c1","title":"x",` + call + `}}}`
	}
	for _, before := range []string{
		`"kind":"edit","content":[{"type":"diff","path":"/project/x","newText":"evil"}]`, `"kind":"read","content":[{"type":"diff","path":"/project/x","newText":"evil"}]`, `"kind":"execute","rawInput":{"command":"rm x"}`, `"kind":"read","rawInput":{"command":"rm x"}`, `"kind":"delete"`, `"kind":"move"`, `"kind":"read","content":[{"type":"terminal","terminalId":"t"}]`,
	} {
		for _, after := range []string{`"kind":"read"`, `"kind":"read","content":[]`, `"kind":"read","content":[],"rawInput":{},"locations":[]`, `"kind":"search","content":[],"rawInput":null`, `"kind":"think","rawInput":[],"content":[]`, `"title":"y","kind":"read","content":[],"rawInput":{ }`, `"kind":"read","content":[{"type":"content","content":{"type":"text","text":"Reads x"}}],"rawInput":{"path":"a"}`} {
			outcome := proxied(s, readOnly, update(before), asks(1, after))
			s.attack(outcome[1] == "denied", "%s, and then %s, is %s", before, after, outcome[1])
		}
	}
	for _, b := range named("read", ".env") {
		for _, after := range []string{`"rawInput":{"path":"a"},"locations":[]`, `"locations":[{"path":"a"}],"rawInput":{"path":"a"}`} {
			outcome := proxied(s, auto, update(b), asks(1, `"kind":"read",`+after))
			s.attack(outcome[1] == "denied", "%s, and then %s, is %s", b, after, outcome[1])
		}
	}
	try(readOnly, "denied", `"kind":"read","content":[{"type":"terminal","terminalId":"t"}]`, `"kind":"read","content":[{"type":"what","x":1}]`, `"kind":"search","content":[{"type":"content","content":{"type":"text","text":"a"}},{"type":"terminal","terminalId":"t"}]`)
}

// "Always" about a tool of a server is about this tool, as it was defined.
func redefinitions(s *suite) {
	tool := func() *mcp.Tool {
		return &mcp.Tool{Name: "look", Title: "Look", Description: "Looks.", InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"}}}`), Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true, DestructiveHint: new(false), OpenWorldHint: new(false), IdempotentHint: true}}
	}
	serve := func(name string, t *mcp.Tool) (*int, *mcptoolset.Server) {
		calls := new(int)
		there := mcp.NewServer(&mcp.Implementation{Name: name, Version: "1"}, nil)
		there.AddTool(t, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			*calls++
			return &mcp.CallToolResult{}, nil
		})
		here, err := mcptoolset.New(mcptoolset.Config{Name: name, Transport: mcptoolset.Func(func(ctx context.Context) (mcp.Transport, error) {
			a, b := mcp.NewInMemoryTransports()
			_, err := there.Connect(context.WithoutCancel(ctx), a, nil)
			return b, err
		})})
		require.NoError(s, err)
		s.Cleanup(func() { _ = here.Close() })
		return calls, here
	}
	for what, change := range map[string]func(*mcp.Tool){
		"title":              func(t *mcp.Tool) { t.Title = "Looks" },
		"description":        func(t *mcp.Tool) { t.Description += " And deletes." },
		"end of description": func(t *mcp.Tool) { t.Description = "Looks.\n" },
		"schema":             func(t *mcp.Tool) { t.InputSchema = json.RawMessage(`{"type":"object"}`) },
		"further argument": func(t *mcp.Tool) {
			t.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`)
		},
		"default": func(t *mcp.Tool) {
			t.InputSchema = json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","default":"/"}}}`)
		},
		"output":         func(t *mcp.Tool) { t.OutputSchema = json.RawMessage(`{"type":"object"}`) },
		"writes":         func(t *mcp.Tool) { t.Annotations.ReadOnlyHint = false },
		"destroys":       func(t *mcp.Tool) { t.Annotations.DestructiveHint = new(true) },
		"no hints":       func(t *mcp.Tool) { t.Annotations = nil },
		"open world":     func(t *mcp.Tool) { t.Annotations.OpenWorldHint = new(true) },
		"not repeatable": func(t *mcp.Tool) { t.Annotations.IdempotentHint = false },
		"title of hints": func(t *mcp.Tool) { t.Title, t.Annotations.Title = "", "Looks" },
		"name":           func(t *mcp.Tool) { t.Name = "looks" },
		"case of name":   func(t *mcp.Tool) { t.Name = "Look" },
	} {
		w := memory(s, nil)
		w.person = always
		asker := approval.Remember(w.policy, w)
		calls, here := serve("a", tool())
		callTool(s, here, "a_look", asker)
		require.Equal(s, 1, *calls)
		w.person = never
		t := tool()
		change(t)
		calls, here = serve("a", t)
		callTool(s, here, "a_"+t.Name, asker)
		s.attack(*calls == 0, "always covers another %s", what)
	}
	for _, name := range []string{"b", "A", "a2", "aa", "a-b"} {
		w := memory(s, nil)
		w.person = always
		asker := approval.Remember(w.policy, w)
		_, here := serve("a", tool())
		callTool(s, here, "a_look", asker)
		w.person = never
		calls, here := serve(name, tool())
		callTool(s, here, name+"_look", asker)
		s.attack(*calls == 0, "always covers the server %q", name)
	}
}

// evilOptions run programs, or read or write files of the caller's choice, in some program.
var evilOptions = strings.Fields(`--exec=evil --exec -exec -x=evil --pre=evil --pre -o=/tmp/x -o/tmp/x --output=/tmp/x --output /tmp/x --config=evil --config -c=evil --config-file=evil --plugin=evil --plugin -p=evil -f/tmp/x --file=/tmp/x -C/tmp -C=/tmp --directory=/tmp
	--cwd=/tmp --prefix=/tmp --rootdir=/tmp --manifest-path=/tmp/x --toolexec=evil -toolexec=evil -vettool=evil -overlay=x -modfile=x --require=evil --require -r=evil --loader=evil --import=evil --ext-diff --textconv --no-index --upload-pack=evil --open-files-in-pager=evil -Oevil
	--to-command=evil --checkpoint-action=exec=evil --compress-program=evil --use-compress-program=evil -I=evil --files0-from=/etc/passwd --files-from=/etc/passwd --from-file=/etc/passwd --exclude-from=/etc/passwd @x @~x @/etc/x --fix --write -w=/tmp/x --in-place -i.bak --delete -delete --follow
	--script-shell=evil --node-options=evil --init-file=evil --rcfile=evil --eval=evil -e=evil --set=x --define=x -Dx=y --host=evil -Htcp://evil --url=evil --registry=evil --index-url=evil --editor=evil --pager=evil --shell=evil --load=evil --cov-config=evil --reporter=evil --formatter=evil --rulesdir=evil`)

// evilVariables make programs run others, or obey other files.
var evilVariables = strings.Fields(`LD_PRELOAD LD_LIBRARY_PATH LD_AUDIT DYLD_INSERT_LIBRARIES PATH BASH_ENV ENV SHELLOPTS PS4 PROMPT_COMMAND IFS GIT_DIR GIT_PAGER GIT_EDITOR GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_CONFIG_COUNT GIT_EXEC_PATH GIT_CONFIG_GLOBAL PAGER EDITOR LESSOPEN NODE_OPTIONS
	PYTHONSTARTUP PYTHONPATH PERL5OPT PERL5LIB RUBYOPT GOFLAGS GOENV GOTOOLCHAIN CARGO_HOME RUSTC_WRAPPER RUSTUP_TOOLCHAIN MAKEFLAGS SHELL CC npm_config_script_shell MAVEN_OPTS JAVA_TOOL_OPTIONS GRADLE_OPTS RIPGREP_CONFIG_PATH TAR_OPTIONS DOCKER_HOST HOME XDG_CONFIG_HOME`)

// "Always" about a command covers no option, no variable and no directory beyond its table.
func options(s *suite) {
	files := map[string]string{"a.txt": "x", "a/a.go": "x", "sub/x": "x"}
	for i, r := range command.Table() {
		words := strings.ReplaceAll(strings.Join(r.Words, " "), "NAME", "x")
		operand := map[string]string{"path": "a.txt", "package": "./a", "text": "x", "word": "x", "number": "1", "format": "+%s", "sed": "1p"}[r.Operands]
		w := memory(s, files)
		w.person = always
		base := strings.TrimSpace(words + " " + operand)
		w.run(base)
		require.Len(s, w.started, 1, base)
		w.person = never
		for _, o := range evilOptions {
			name, _, _ := strings.Cut(o, "=")
			_, listed := r.Options[name]
			if letter := "-" + strings.TrimLeft(o, "-")[:1]; !listed && !strings.HasPrefix(o, "--") && o[0] == '-' {
				_, listed = r.Options[letter] // with a value, or letters behind it
			}
			if listed || r.Operands == "text" {
				continue
			}
			w.run(strings.TrimSpace(words + " " + o + " " + operand))
			s.attack(len(w.started) == 0, "%q covers %s", base, o)
		}
		for j, v := range evilVariables {
			if (i+j)%5 > 0 {
				continue // the others are tried with other commands
			}
			w.run(v + "=evil " + base)
			s.attack(len(w.started) == 0, "%q covers the variable %s", base, v)
			w.call("run_command", args{"command": base, "env": args{v: "evil"}})
			s.attack(len(w.started) == 0, "%q covers %s in the environment", base, v)
		}
	}
}

// Of several answers at once one counts, and none makes rules that were not offered.
func atOnce(s *suite) {
	var mu sync.Mutex
	paid := 0
	tool := toolset.Plain[deps]("pay", "Pay.", func(context.Context, pay) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		paid++
		return "paid", nil
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[deps], in pay) (*toolset.Approval, error) {
		return &toolset.Approval{Title: "Pay " + in.To, Scope: in.To}, nil
	}))
	open := func() (*host.Session, *view.Entity) {
		h, err := host.New(host.Config[deps, string]{Agent: agent.Must(agent.New(agent.Config[deps, string]{
			Model: modeltest.Script(modeltest.Say(model.ToolCall("c", "pay", `{"to":"Ada"}`)), modeltest.SayText("done")), Tools: []*toolset.Tool[deps]{tool},
		}))})
		require.NoError(s, err)
		s.Cleanup(func() { _ = h.Close(context.Background()) })
		opened, err := h.Create(s.Context(), session.New{Dir: "/project"}, nil)
		require.NoError(s, err)
		_, err = opened.Prompt(s.Context(), host.Prompt{Parts: []model.Part{model.User("Pay.")}})
		require.NoError(s, err)
		snapshot, _, err := opened.Snapshot(s.Context())
		require.NoError(s, err)
		return opened, snapshot.Last(view.Question)
	}
	for range 20 {
		opened, q := open()
		var all sync.WaitGroup
		accepted := make(chan string, 8)
		for i := range 8 {
			all.Go(func() {
				choice := []string{host.AllowOnce, host.RejectOnce}[i%2]
				if opened.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Choice: choice}) == nil {
					accepted <- choice
				}
			})
		}
		all.Wait()
		s.attack(len(accepted) == 1, "%d answers were accepted", len(accepted))
	}
	mu.Lock()
	s.attack(paid <= 20, "paid %d times", paid)
	mu.Unlock()
	for what, d := range map[string]toolset.Decision{
		"a scope that is not offered":          {Verdict: toolset.VerdictAllow, Always: true, Scope: "Bob"},
		"the scope of all":                     {Verdict: toolset.VerdictAllow, Always: true, Scope: "*"},
		"lasting, where nothing keeps it":      {Verdict: toolset.VerdictAllow, Always: true, Lasting: true, Scope: "Bob"},
		"lasting without always":               {Verdict: toolset.VerdictAllow, Lasting: true},
		"other arguments, always":              {Verdict: toolset.VerdictAllow, Always: true, Args: []byte(`{"to":"Bob"}`)},
		"a verdict that is none, always":       {Verdict: "always", Always: true},
		"a deferral, always":                   {Verdict: toolset.VerdictDefer, Always: true},
		"a question that is asked for, always": {Verdict: approval.VerdictAsk, Always: true},
	} {
		opened, q := open()
		_ = opened.Decide(s.Context(), q.ID, "", host.Answer{Digest: q.Digest, Decision: &d})
		s.attack(len(opened.Policy().Rules()) == 0, "%s makes %v", what, opened.Policy().Rules())
	}
}

// An undo follows no link that was not there, and goes through the same questions under each name.
func undoesThroughLinks(s *suite) {
	allowed := func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
	outside := s.TempDir()
	for name, swap := range map[string]string{"f": "g", "d": "e", "p": ".git", "o": outside} {
		for _, mode := range []string{"code", "auto", "always"} {
			for _, when := range []string{"before", "meanwhile"} {
				w, root := onDisk(s, map[string]string{"f": "old", "g": "new", "d/f": "old", "e/f": "new", "p/config": "old", ".git/config": "new", "o/f": "old"})
				put(s, filepath.Join(outside, "f"), "new")
				file := map[string]string{"f": "f", "d": "d/f", "p": "p/config", "o": "o/f"}[name]
				w.person = allowed
				w.write(file, "new")
				change := func() {
					require.NoError(s, os.RemoveAll(filepath.Join(root, name)))
					require.NoError(s, os.Symlink(swap, filepath.Join(root, name)))
				}
				switch mode {
				case "code":
					w.code = true
				case "auto":
					w.configure(rules("auto"))
				case "always":
					w.policy.Remember("undo_changes", "", toolset.VerdictAllow)
				}
				w.person = never
				if when == "before" {
					change()
				} else {
					w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { change(); return toolset.Allow() }
				}
				w.call("undo_changes", args{})
				if when == "meanwhile" && mode != "code" && len(w.asked) == 0 {
					continue // nothing was asked, so nothing could change
				}
				there := []string{content(filepath.Join(root, ".git/config")), content(filepath.Join(outside, "f"))}
				s.attack(slices.Equal(there, []string{"new", "new"}), "%s becomes %s, %s, mode %s: %v", name, swap, when, mode, there)
			}
		}
	}
}

// The values of an environment are not printed.
func prints(s *suite) {
	c := local.Config{Roots: []string{s.TempDir()}, Env: []string{"A=sesame", "PATH=" + os.Getenv("PATH"), "sesame"}, PassEnv: []string{"A"}}
	disk, err := local.Open(c)
	require.NoError(s, err)
	s.Cleanup(func() { _ = disk.Close() })
	data, err := json.Marshal(c)
	require.NoError(s, err)
	for _, value := range []any{c, &c, disk, []any{c}, map[string]any{"c": c}, struct{ C local.Config }{c}, string(data)} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
			text := fmt.Sprintf(verb, value)
			s.attack(!strings.Contains(text, "sesame") && !strings.Contains(text, fmt.Sprintf("%x", "sesame")), "%s of %T: %s", verb, value, text)
		}
	}
}
