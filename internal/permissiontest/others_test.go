// SPDX-License-Identifier: Apache-2.0

package permissiontest_test

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/toolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// What changes while the question is open is not what was allowed.
func races(s *suite) {
	for _, lasting := range []bool{false, true} {
		racing(s, lasting)
	}
}

// racing makes the changes while the question is open. With lasting set, the answer holds always:
// of the same file, whatever is in it by then.
func racing(s *suite, lasting bool) {
	once := func(then func()) func(int, *toolset.ApprovalRequest) toolset.Decision {
		return func(n int, _ *toolset.ApprovalRequest) toolset.Decision {
			if n > 1 {
				return toolset.Deny("it has changed")
			}
			then()
			return toolset.Decision{Verdict: toolset.VerdictAllow, Always: lasting}
		}
	}
	swap := func(root, name, to string) func() {
		return func() {
			require.NoError(s, os.RemoveAll(filepath.Join(root, name)))
			require.NoError(s, os.Symlink(to, filepath.Join(root, name)))
		}
	}
	outside := s.TempDir()
	put(s, filepath.Join(outside, "f"), "old")
	for name, try := range map[string]func(w *world, root string) (call func(), safe func() bool){
		"the file becomes a link to another": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "f", "g"))
			return func() { w.write("f", "new") }, func() bool { return content(root+"/g") == "old" }
		},
		"the file becomes a link out": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "f", outside+"/f"))
			return func() { w.write("f", "new") }, func() bool { return content(outside+"/f") == "old" }
		},
		"the file becomes a protected one": func(w *world, root string) (func(), func() bool) {
			put(s, root+"/.envrc", "old")
			w.person = once(swap(root, "f", ".envrc"))
			return func() { w.write("f", "new") }, func() bool { return content(root+"/.envrc") == "old" }
		},
		"the directory becomes a link out": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "d", outside))
			return func() { w.write("d/f", "new") }, func() bool { return content(outside+"/f") == "old" }
		},
		"the directory becomes another": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "d", "e"))
			return func() { w.write("d/f", "new") }, func() bool { return content(root+"/e/f") == "old" }
		},
		"the file has other contents": func(w *world, root string) (func(), func() bool) {
			w.person = once(func() { put(s, root+"/f", "mine") })
			return func() { w.write("f", "new") }, func() bool { return content(root+"/f") == "mine" }
		},
		"the file has gone": func(w *world, root string) (func(), func() bool) {
			w.person = once(func() { require.NoError(s, os.Remove(root+"/f")) })
			return func() { w.write("f", "new") }, func() bool { return content(root+"/f") == "-" }
		},
		"a new file is there": func(w *world, root string) (func(), func() bool) {
			w.person = once(func() { put(s, root+"/n", "mine") })
			return func() { w.write("n", "new") }, func() bool { return content(root+"/n") == "mine" }
		},
		"an edited file has other contents": func(w *world, root string) (func(), func() bool) {
			w.person = once(func() { put(s, root+"/f", "older old") })
			return func() {
				w.call("edit_file", args{"path": "f", "edits": []args{{"old_text": "old", "new_text": "new"}}})
			}, func() bool { return content(root+"/f") == "older old" }
		},
		"the directory of a command becomes another": func(w *world, root string) (func(), func() bool) {
			require.NoError(s, os.Symlink("d", root+"/l"))
			w.person = once(swap(root, "l", "e"))
			return func() { w.call("run_command", args{"command": "echo new >f", "cwd": "l"}) }, func() bool { return content(root+"/e/f") == "old" }
		},
		"the directory of a command becomes a link": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "d", "e"))
			return func() { w.call("run_command", args{"command": "echo new >f", "cwd": "d"}) }, func() bool { return content(root+"/e/f") == "old" }
		},
		"the directory of a command leads out": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "d", outside))
			return func() { w.call("run_command", args{"command": "echo new >f", "cwd": "d"}) }, func() bool { return content(outside+"/f") == "old" }
		},
		"a file of a command becomes a protected one": func(w *world, root string) (func(), func() bool) {
			put(s, root+"/.envrc", "old")
			w.person = once(swap(root, "f", ".envrc"))
			return func() { w.run("echo new >f") }, func() bool { return content(root+"/.envrc") == "old" }
		},
		"a word of a command becomes a protected one": func(w *world, root string) (func(), func() bool) {
			put(s, root+"/.envrc", "old")
			w.person = once(swap(root, "f", ".envrc"))
			return func() { w.run("dd if=g of=f 2>&1") }, func() bool { return content(root+"/.envrc") == "old" }
		},
		"a directory of a command's file becomes another": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "d", "e"))
			return func() { w.run("echo new >d/f") }, func() bool { return content(root+"/e/f") == "old" }
		},
		"a file of a command leads out": func(w *world, root string) (func(), func() bool) {
			w.person = once(swap(root, "f", outside+"/f"))
			return func() { w.run("echo new >f") }, func() bool { return content(outside+"/f") == "old" }
		},
		"a link of a command leads elsewhere": func(w *world, root string) (func(), func() bool) {
			require.NoError(s, os.Symlink("f", root+"/l"))
			w.person = once(swap(root, "l", "g"))
			return func() { w.run("echo new >l") }, func() bool { return content(root+"/g") == "old" }
		},
		"what a command must not read takes the place of another file": func(w *world, root string) (func(), func() bool) {
			put(s, root+"/.env", "sesame")
			w.configure(rules("ask", `{"decision":"deny","read":"**/.env"}`))
			told := ""
			w.person = once(swap(root, "f", ".env"))
			return func() { told = w.run("base64 -w0 f; cat f") }, func() bool { return !strings.Contains(told, "sesame") }
		},
		"a parent is renamed": func(w *world, root string) (func(), func() bool) {
			put(s, root+"/e/f", "other")
			w.person = once(func() {
				require.NoError(s, os.Rename(root+"/d", root+"/moved"))
				require.NoError(s, os.Rename(root+"/e", root+"/d"))
			})
			return func() { w.write("d/f", "new") }, func() bool { return content(root+"/d/f") == "other" && content(root+"/moved/f") == "old" }
		},
		"a new file's directory leads to a protected one": func(w *world, root string) (func(), func() bool) {
			put(s, root+"/.git/hooks/x", "old")
			w.person = once(swap(root, "d", ".git/hooks"))
			return func() { w.write("d/n", "new") }, func() bool { return content(root+"/.git/hooks/n") == "-" }
		},
		"the root becomes a link": func(w *world, root string) (func(), func() bool) {
			put(s, outside+"/g", "old")
			w.person = once(func() {
				require.NoError(s, os.Rename(root, root+"-moved"))
				require.NoError(s, os.Symlink(outside, root))
			})
			return func() { w.write("g", "new") }, func() bool { return content(outside+"/g") == "old" }
		},
		"a file of a rule becomes another": func(w *world, root string) (func(), func() bool) {
			w.configure(rules("ask", `{"decision":"deny","path":"e/**"}`))
			w.person = once(swap(root, "d", "e"))
			return func() { w.write("d/f", "new") }, func() bool { return content(root+"/e/f") == "old" }
		},
		"a file to be read becomes another": func(w *world, root string) (func(), func() bool) {
			w.configure(rules("ask", `{"decision":"ask","read":"f"}`))
			put(s, root+"/g", "sesame")
			told := ""
			w.person = once(swap(root, "f", "g"))
			return func() { told = w.call("read_file", args{"path": "f"}) }, func() bool { return !strings.Contains(told, "sesame") }
		},
		"an undo finds another file": func(w *world, root string) (func(), func() bool) {
			w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
			w.write("f", "new")
			w.person = once(swap(root, "f", "g"))
			put(s, root+"/g", "new")
			return func() { w.call("undo_changes", args{}) }, func() bool { return content(root+"/g") == "new" }
		},
	} {
		w, root := onDisk(s, map[string]string{"f": "old", "g": "old", "d/f": "old", "e/f": "old"})
		if lasting && slices.Contains([]string{"the file has other contents", "the file has gone", "a new file is there", "an edited file has other contents", "a parent is renamed", "a file of a command leads out", "a link of a command leads elsewhere", "a directory of a command's file becomes another"}, name) {
			continue
		}
		call, safe := try(w, root)
		call()
		s.attack(safe(), "%s, always: %v", name, lasting)
	}
}

// Secrets of the environment reach neither commands nor logs.
func leaks(s *suite) {
	names := strings.Fields(`OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY SMTP_PASS GITHUB_PAT STRIPE_KEY REDIS_URL DATABASE_URL MONGO_URI AWS_SECRET_ACCESS_KEY AWS_ACCESS_KEY_ID AWS_SESSION_TOKEN
		GH_TOKEN GITHUB_TOKEN GITLAB_TOKEN NPM_TOKEN PYPI_PASSWORD SENTRY_DSN SLACK_WEBHOOK TWILIO_AUTH JWT_SIGNING DJANGO_SALT COOKIE_SEED PGPASSWORD MYSQL_PWD VAULT_ADDR_TOKEN KUBE_CREDS SSH_PASSPHRASE GPG_PIN
		HEROKU_KEY DO_PAT LINODE_CLI CLOUDFLARE_KEY FASTLY_KEY DATADOG_APP NEWRELIC_LICENSE SECRET PASSWORD PASSWD TOKEN KEY CREDENTIALS AUTH BEARER my_secret Api_Key X_Y_Z ORACLE_CONNECT LDAP_BIND IMAP_LOGIN
		HASURA_ADMIN SUPABASE_ANON FIREBASE_CONFIG AZURE_SAS S3_PRESIGNED WEBHOOK_URL ENCRYPT_IV CI_JOB_JWT BUILDKITE_AGENT TF_VAR_password ANSIBLE_VAULT NETRC_PASS`)
	for _, n := range names {
		s.Setenv(n, "sesame")
	}
	for _, n := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "PIP_INDEX_URL", "GOPROXY"} {
		s.Setenv(n, "https://u:sesame@proxy.example")
	}
	w, _ := onDisk(s, nil)
	w.person = func(int, *toolset.ApprovalRequest) toolset.Decision { return toolset.Allow() }
	told := w.run("env; cat /proc/self/environ")
	for _, n := range append(names, "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "PIP_INDEX_URL", "GOPROXY") {
		s.attack(!strings.Contains(told, n+"="), "%s reaches a command", n)
	}
	s.attack(!strings.Contains(told, "sesame"), "a value reaches a command")
	// Secrets in arguments and contents do not reach the log of decisions.
	var b bytes.Buffer
	asker := approval.Logged(w, slog.New(slog.NewTextHandler(&b, nil)))
	for _, a := range []toolset.Approval{
		{Preview: []toolset.Preview{{Command: &toolset.CommandLine{Line: "curl -u x:sesame y", Env: []string{"A=sesame"}}}}},
		{Preview: []toolset.Preview{{Diff: &toolset.Diff{Path: "x", New: new("sesame")}}}, Reason: "sesame"},
	} {
		_, err := asker.Approve(s.Context(), toolset.ApprovalRequest{Origin: toolset.Origin{Path: []string{"1"}, Tool: "t"}, Args: []byte(`{"x":"sesame"}`), Approval: a})
		require.NoError(s, err)
		s.attack(!strings.Contains(b.String(), "sesame"), "the log has %s", b.String())
	}
	for _, n := range []string{"OPENAI_API_KEY", "SMTP_PASS", "GITHUB_PAT", "STRIPE_KEY", "REDIS_URL"} {
		s.attack(local.Secret(n), "the value of %s is logged", n)
	}
}
