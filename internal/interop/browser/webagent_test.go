// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"bufio"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestSampleAgentInTheBrowser lets the sample agent change a file, with approval.
func TestSampleAgentInTheBrowser(t *testing.T) {
	deep(t)
	root := filepath.Join("..", "..", "..")
	dir, binary := t.TempDir(), filepath.Join(t.TempDir(), "webagent")
	build := exec.Command("go", "build", "-o", binary, "./examples/webagent")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	if err := os.CopyFS(dir, os.DirFS(filepath.Join(root, "examples", "demo"))); err != nil {
		t.Fatal(err)
	}
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" >" + opened + ".new && mv " + opened + ".new " + opened + "\n"
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "-dir", dir, "-store", t.TempDir(), "-model", "offline")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	var file []byte
	for end := time.Now().Add(time.Minute); len(file) == 0; time.Sleep(5 * time.Millisecond) {
		if file, err = os.ReadFile(opened); err != nil && time.Now().After(end) {
			t.Fatal(err)
		}
	}
	driveAt(t, "opened", "http://"+u.Host+"/", []string{"PONTE_FILE=" + string(file)})
	driveAt(t, "webagent", "http://"+u.Host+"/", []string{"PONTE_TOKEN=" + u.Query().Get("token")})
	text, err := os.ReadFile(filepath.Join(dir, "temperature.go"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "+ 32") {
		t.Errorf("the file has not changed:\n%s", text)
	}
}
