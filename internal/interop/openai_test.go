// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/webbridge"
)

var (
	openaiPython = sync.OnceValues(func() (string, error) { return pythonPackages("openai-python", "openai-requirements.txt") })
	openaiNode   = sync.OnceValues(func() (string, error) { return nodePackages("openai-node", "openai") })
)

func TestOpenAIPythonSDKTalksToV1(t *testing.T) {
	deepTier(t)
	interpreter := filepath.Join(installed(t, openaiPython), "bin", "python")
	talkToV1(t, interpreter, "-I", filepath.Join("python", "openai_client.py"))
}

func TestOpenAINodeSDKTalksToV1(t *testing.T) {
	dir := installed(t, openaiNode)
	script, err := os.ReadFile(filepath.Join("openai", "client.mjs"))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, fmt.Sprintf("client-%d.mjs", os.Getpid())) // beside the packages that it imports
	if err := os.WriteFile(path, script, 0o666); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.Remove(path) }()
	talkToV1(t, "node", path)
}

// talkToV1 runs a client against an agent. Each story that the client has stopped to read has to be cancelled.
func talkToV1(t *testing.T, command ...string) {
	t.Helper()
	stories := make(chan struct{}, 10)
	var paid atomic.Int64
	const token = "a token for the tests"
	h, err := webbridge.New(webbridge.Config[struct{}, string]{
		Host: host.Config[struct{}, string]{Agent: agent.Must(agent.New(agent.Config[struct{}, string]{
			Model: v1Model(stories), Tools: []*toolset.Tool[struct{}]{
				toolset.Func("add", "Add.", func(context.Context, *toolset.RunContext[struct{}], struct{}) (int, error) { return 5, nil }),
				toolset.Func("pay", "Pay.", func(context.Context, *toolset.RunContext[struct{}], struct{}) (string, error) {
					paid.Add(1)
					return "paid", nil
				}, toolset.Approve(func(context.Context, *toolset.RunContext[struct{}], struct{}) (*toolset.Approval, error) {
					return &toolset.Approval{Title: "Pay"}, nil
				})),
			},
		}))},
		Options: webbridge.Options{Token: token, Protocols: []webbridge.Protocol{webbridge.OpenAI(webbridge.OpenAIOptions{})}},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	defer server.Close()
	defer func() { _ = h.Shutdown(context.Background()) }()
	cmd := exec.Command(command[0], append(command[1:], server.URL+"/v1", token)...)
	cmd.Env = cleanEnv("HOME=" + t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "done") {
		t.Fatalf("%v\n%s", err, out)
	}
	for range 3 {
		<-stories
	}
	if n := paid.Load(); n != 0 {
		t.Errorf("%d payments were made that nobody has approved", n)
	}
}

// v1Model does what the last text of the user says.
func v1Model(stories chan<- struct{}) model.Model {
	return model.Func(model.Info{Provider: "test", Name: "test", Media: []string{"image/png"}}, func(ctx context.Context, r *model.Request, sink model.Sink) (*model.Message, error) {
		say := func(text string) (*model.Message, error) {
			for word := range strings.SplitAfterSeq(text, " ") {
				if sink != nil && word != "" {
					if err := sink(model.Delta{Kind: model.PartText, Text: word}); err != nil {
						return nil, err
					}
				}
			}
			m := model.Response(model.Text(text))
			m.Usage = model.Usage{InputTokens: 11, OutputTokens: 20, CacheReadTokens: 4, ReasoningTokens: 3}
			return m, nil
		}
		asked, all, returned := "", []string{}, false
		for _, m := range r.Messages {
			for _, p := range m.Parts {
				switch p.Kind {
				case model.PartUser:
					asked, all, returned = p.Text, append(all, "user:"+p.Text), false
				case model.PartMedia:
					all = append(all, "user:"+p.MediaType)
				case model.PartText:
					all = append(all, "assistant:"+p.Text)
				case model.PartToolReturn:
					returned = true
				}
			}
		}
		switch asked {
		case "count":
			return say("0 1 2 3 4 5 6 7 8 9 ")
		case "recall":
			return say(strings.Join(all, " "))
		case "use the tool":
			if returned {
				return say("It is done.")
			}
			return model.Response(model.Text("I use it."), model.ToolCall("a", "add", "{}"), model.ToolCall("b", "pay", "{}")), nil
		case "story":
			_, err := say("Once upon a time ")
			<-ctx.Done()
			stories <- struct{}{}
			return nil, errors.Join(err, ctx.Err())
		case "half":
			_, _ = say("Half of it ")
		}
		return nil, errors.New("the provider is away")
	})
}
