// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
	"github.com/ponte-go/ponte/agent/session"
	"github.com/ponte-go/ponte/agent/session/replay"
	"github.com/ponte-go/ponte/agent/session/transcript"
	"github.com/ponte-go/ponte/toolset"
)

// random returns a text of random letters and digits, the same each time.
func random(seed uint64, n int, alphabet string) string {
	d := newDice(seed)
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[d.n(len(alphabet))]
	}
	return string(b)
}

const (
	hexadecimal = "0123456789abcdef"
	small       = "0123456789abcdefghijklmnopqrstuvwxyz"
	letters     = small + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// planted are secrets, each in the text that it is found in. They are put together here, so that
// scanners of repositories do not take this file for a leak.
func planted() map[string][2]string {
	w := func(n int) string { return random(uint64(n)+11, n, letters) }
	h := func(n int) string { return random(uint64(n)+12, n, hexadecimal) }
	all := map[string][2]string{}
	as := func(kind, secret, format string) { all[kind] = [2]string{secret, fmt.Sprintf(format, secret)} }
	as("AWS access key", "AKIA"+random(1, 16, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"), "key %s end")
	as("AWS secret key", w(40), "aws_secret_access_key = %s")
	as("GitHub token", "ghp_"+w(36), "git clone https://x:%s@github.com/a/b")
	as("GitHub fine-grained token", "github_pat_"+w(82), "%s")
	as("GitLab token", "glpat-"+random(2, 20, letters), "PRIVATE-TOKEN: %s")
	as("Slack token", "xoxb-"+random(3, 12, "0123456789")+"-"+random(4, 12, "0123456789")+"-"+w(24), "%s")
	as("Slack webhook", "https://hooks."+"slack.com/services/T"+random(5, 9, "ABCDEF0123")+"/B"+
		random(6, 9, "ABCDEF0123")+"/"+w(24), "%s")
	as("Stripe key", "sk_live_"+random(7, 24, letters), "stripe: %s")
	as("OpenAI key", "sk-"+w(20)+"T3Blbk"+"FJ"+random(8, 20, letters), "OPENAI_API_KEY=%s")
	as("Anthropic key", "sk-ant-api03-"+random(9, 93, letters)+"AA", "%s")
	as("Google API key", "AIza"+random(10, 35, letters), "https://maps/?key=%s")
	as("npm token", "npm_"+random(11, 36, small), "//registry/:_authToken=%s")
	as("PyPI token", "pypi-AgEIcHlwaS5vcmc"+random(12, 60, letters), "password: %s")
	as("Hugging Face token", "hf_"+random(13, 34, "abcdefghijklmnopqrstuvwxyz"), "%s")
	as("SendGrid key", "SG."+random(14, 66, letters), "%s")
	as("Twilio key", "SK"+h(32), "twilio %s")
	as("Mailgun key", "key-"+random(15, 32, hexadecimal), "mailgun = '%s'")
	as("DigitalOcean token", "dop_v1_"+h(64), "%s")
	as("Shopify token", "shpat_"+h(32), "%s")
	as("Databricks token", "dapi"+random(16, 32, hexadecimal), "%s")
	as("Doppler token", "dp.pt."+random(17, 43, letters), "%s")
	as("Linear key", "lin_api_"+random(18, 40, small), "%s")
	as("Notion token", "ntn_"+random(19, 11, "0123456789")+random(20, 35, letters), "%s")
	as("JSON web token", "ey"+random(21, 20, letters)+".ey"+random(22, 30, letters)+"."+random(23, 43, letters), "%s")
	as("private key", strings.Repeat(random(24, 60, letters)+"\n", 4),
		"-----BEGIN RSA PRIVATE "+"KEY-----\n%s-----END RSA PRIVATE "+"KEY-----")
	as("password in an address", random(25, 12, letters), "postgres://app:%s@db.example.com/shop")
	as("basic authorization", base64.StdEncoding.EncodeToString([]byte("app:"+random(26, 12, letters))),
		"Authorization: Basic %s")
	as("bearer token", random(27, 40, letters), `curl -H "Authorization: Bearer %s" x`)
	as("password in settings", "Tr0ub4dor-"+random(28, 6, letters), "DB_PASSWORD=%s")
	as("password of a command", "hunter"+random(29, 6, letters), "mysql --password=%s shop")
	as("cookie", "session="+random(30, 32, letters), "Cookie: %s")
	as("generic key", random(31, 32, letters), "service_api_key: \"%s\"")
	as("key in Base64", base64.StdEncoding.EncodeToString([]byte("token ghp_"+random(32, 36, letters))), "%s")
	as("known secret", "correct horse battery staple", "it is %s")
	return all
}

// leaky makes a session that has a text everywhere: said by the user and the model, in arguments,
// results, failures and data of tools, decisions, and the instructions.
func leaky(t *testing.T, secret, text string) session.Store {
	st := new(session.Memory)
	_, err := st.Create(t.Context(), session.New{ID: "s", Title: text})
	require.NoError(t, err)
	w, err := session.Open(t.Context(), st, "s", session.Claim{})
	require.NoError(t, err)
	defer func() { require.NoError(t, w.Close(t.Context())) }()
	c, err := transcript.Open(t.Context(), w, transcript.Options{})
	require.NoError(t, err)
	args, _ := json.Marshal(map[string]string{"text": text, "again": secret})
	a := leakyAgent(text, modeltest.Script(
		modeltest.Say(model.Text(text), model.ToolCall("1", "echo", string(args)), model.ToolCall("2", "fail", string(args))),
		modeltest.SayText("It was "+text),
	))
	deny := toolset.AskerFuncs{OnApprove: func(context.Context, toolset.ApprovalRequest) (toolset.Decision, error) {
		return toolset.Decision{Verdict: toolset.VerdictAllow, Reason: text, By: "user"}, nil
	}}
	turn, err := c.Begin(t.Context(), model.User(text))
	require.NoError(t, err)
	res, err := a.Run(t.Context(), none{}, text, append(turn.Options(), agent.WithAsker(deny))...)
	require.NoError(t, err)
	require.NoError(t, transcript.End(t.Context(), turn, res, err))
	return st
}

type echoed struct {
	Text  string `json:"text"`
	Again string `json:"again"`
}

func leakyAgent(text string, m model.Model) *agent.Agent[none, string] {
	echo := toolset.Func("echo", "Echo.", func(_ context.Context, _ *toolset.RunContext[none], a echoed) (toolset.Result, error) {
		meta, _ := json.Marshal(a)
		return toolset.Result{Text: a.Text, Meta: meta, Content: []model.Part{model.User(a.Again)}}, nil
	})
	fail := toolset.Func("fail", "Fail.", func(_ context.Context, _ *toolset.RunContext[none], a echoed) (string, error) {
		return "", toolset.Failed("cannot use %s", a.Text)
	}, toolset.Approve(func(_ context.Context, _ *toolset.RunContext[none], a echoed) (*toolset.Approval, error) {
		return &toolset.Approval{Title: a.Text, Scope: a.Text}, nil
	}))
	return agent.Must(agent.New(agent.Config[none, string]{
		Model: m, Instructions: "Use " + text, Tools: []*toolset.Tool[none]{echo, fail},
	}))
}

// TestSecretsAreReplaced plants secrets of 34 kinds. None is in the files, and the test passes.
func TestSecretsAreReplaced(t *testing.T) {
	for kind, s := range planted() {
		t.Run(kind, func(t *testing.T) {
			secret, text := s[0], s[1]
			r, err := replay.Make(t.Context(), leaky(t, secret, text), "s",
				replay.Options{Secrets: []string{"correct horse battery staple"}})
			require.NoError(t, err)
			setup := func() *agent.Agent[none, string] { return leakyAgent(text, r.Stage(0).Model()) }
			require.NoError(t, replay.Play(t.Context(), r, 0, setup(), none{}, replay.PlayOptions{}))
			require.NoError(t, replay.Fill(t.Context(), r, 0, setup(), none{}, replay.PlayOptions{}))
			require.NoError(t, r.Clean("correct horse battery staple"))
			file := filepath.Join(t.TempDir(), "r.json")
			require.NoError(t, r.Save(file))
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			var source strings.Builder
			require.NoError(t, r.WriteTest(&source, replay.Source{}))
			for _, form := range []string{string(data), source.String()} {
				for _, line := range strings.Split(strings.TrimSpace(secret), "\n") {
					require.NotContains(t, form, line)
				}
			}
			require.Contains(t, source.String(), "what looks like secrets")
			r, err = replay.Load(file)
			require.NoError(t, err)
			require.NoError(t, replay.Play(t.Context(), r, 0, setup(), none{}, replay.PlayOptions{}))
		})
	}
}

// TestKnownSecretsAreReplacedInJSON has secrets that JSON escapes, in texts of tools that are JSON,
// and that have JSON in a string.
func TestKnownSecretsAreReplacedInJSON(t *testing.T) {
	encoded := func(v any, html bool) string {
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(html)
		require.NoError(t, enc.Encode(v))
		return strings.TrimSpace(b.String())
	}
	type settings struct {
		Key string `json:"key"`
	}
	for _, secret := range []string{`a "horse" b`, `C:\horse\b`, "one\nhorse\n", "a&horse<b>", "horse\t\x01é", `"&horse\`} {
		for _, html := range []bool{false, true} {
			once := encoded(settings{secret}, html)
			for _, text := range []string{secret, once, "It is " + once + ".", encoded(settings{once}, html)} {
				r, err := replay.Make(t.Context(), leaky(t, secret, text), "s", replay.Options{Secrets: []string{secret}})
				require.NoError(t, err)
				setup := func() *agent.Agent[none, string] { return leakyAgent(text, r.Stage(0).Model()) }
				require.NoError(t, replay.Fill(t.Context(), r, 0, setup(), none{}, replay.PlayOptions{}))
				require.NoError(t, r.Clean(secret))
				file := filepath.Join(t.TempDir(), "r.json")
				require.NoError(t, r.Save(file))
				data, err := os.ReadFile(file)
				require.NoError(t, err)
				require.NotContains(t, string(data), "horse", text)
				require.Contains(t, string(data), "(known: 1)")
				r, err = replay.Load(file)
				require.NoError(t, err)
				require.NoError(t, replay.Play(t.Context(), r, 0, setup(), none{}, replay.PlayOptions{}))
			}
		}
	}
}

// TestSecretsInArgumentsAndFilesAreReplaced has secrets that only the name of a member, or another
// place, tells of: a value of arguments, and a line of a key that stands alone.
func TestSecretsInArgumentsAndFilesAreReplaced(t *testing.T) {
	line := random(41, 60, letters)
	key := "-----BEGIN RSA PRIVATE " + "KEY-----\n" + line + "\n" + random(42, 60, letters) +
		"\n-----END RSA PRIVATE " + "KEY-----"
	rest := random(43, 6, letters)
	password := "Tr0ub4dor " + rest
	args, err := json.Marshal(map[string]string{"password": password})
	require.NoError(t, err)
	r := &replay.Recording{
		Messages: []*model.Message{model.Response(model.ToolCall("1", "login", string(args)))},
		Files: []replay.File{
			{Path: "/a", Text: "it begins with " + line}, {Path: "/b", Text: key},
		},
	}
	r.Messages = append(r.Messages, model.Response(model.Text("I used "+password+".")))
	require.NoError(t, r.Clean())
	data, err := json.Marshal(r)
	require.NoError(t, err)
	require.NotContains(t, string(data), line)
	require.NotContains(t, string(data), rest, "all of the password")
}
