// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const rulesOfUser = `{
  // Words of the user, which stay.
  "permissions": {
    "rules": [
      {"decision": "deny", "path": "**/.env"}, // nobody reads this
      {"decision": "allow", "command": "go vet ./..."}
    ]
  }
}
`

// TestPermissionsInTheBrowser lists the rules of a session on the page, takes some back, and answers
// with "always in this project", which holds in the next session and in another process.
func TestPermissionsInTheBrowser(t *testing.T) {
	deep(t)
	dir, store, home, binary := demo(t), t.TempDir(), t.TempDir(), sample(t, "ideagent")
	config := filepath.Join(home, "config.json")
	if err := os.WriteFile(config, []byte(rulesOfUser), 0o600); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, ".agents", "ideagent.json")
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		t.Fatal(err)
	}
	const project = `{"permissions": {"rules": [{"decision": "ask", "command": "make"}]}}`
	if err := os.WriteFile(own, []byte(project), 0o600); err != nil {
		t.Fatal(err)
	}
	read := func() string {
		data, err := os.ReadFile(config)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	begin := func(scenario string) (stop func()) {
		cmd := exec.Command(binary, "web", "-dir", dir, "-store", store, "-model", "offline",
			"-open=false", "-config", config)
		page, stop := started(t, cmd)
		at := []string{"PONTE_TOKEN=" + page.Query().Get("token"), "PONTE_CONFIG=" + config, "PONTE_OWN=" + own}
		driveAt(t, scenario, "http://"+page.Host+"/", at)
		return stop
	}
	stop := begin("permissions")
	for _, want := range []string{"// Words of the user", "// nobody reads this", `"**/.env"`, `"always"`} {
		if !strings.Contains(read(), want) {
			t.Errorf("the user's file has no %s:\n%s", want, read())
		}
	}
	if strings.Contains(read(), "go vet") {
		t.Errorf("the rule that was taken back is still there:\n%s", read())
	}
	stop()
	begin("kept")
	if strings.Contains(read(), dir) || !strings.Contains(read(), "// Words of the user") {
		t.Errorf("the answer was not taken back, or more was:\n%s", read())
	}
}
