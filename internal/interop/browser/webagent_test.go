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
	"sync"
	"testing"
	"time"
)

// sample builds a sample program.
func sample(t *testing.T, name string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	build := exec.Command("go", "build", "-o", binary, "./examples/"+name)
	build.Dir = filepath.Join("..", "..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return binary
}

// demo copies the directory that samples work in.
func demo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("..", "..", "..", "examples", "demo"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// started runs a sample until stop is called or the test ends, and returns the address of its page.
func started(t *testing.T, cmd *exec.Cmd) (page *url.URL, stop func()) {
	t.Helper()
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop = sync.OnceFunc(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	t.Cleanup(stop)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if page, err = url.Parse(strings.TrimSpace(line)); err != nil {
		t.Fatal(err)
	}
	return page, stop
}

// TestSampleAgentInTheBrowser lets the sample agent change a file, with approval.
func TestSampleAgentInTheBrowser(t *testing.T) {
	deep(t)
	dir, binary := demo(t), sample(t, "webagent")
	bin, opened := t.TempDir(), filepath.Join(t.TempDir(), "opened")
	script := "#!/bin/sh\nprintf %s \"$1\" >" + opened + ".new && mv " + opened + ".new " + opened + "\n"
	for _, name := range []string{"xdg-open", "open"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(binary, "-dir", dir, "-store", t.TempDir(), "-model", "offline")
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
	u, _ := started(t, cmd)
	var file []byte
	for end := time.Now().Add(time.Minute); len(file) == 0; time.Sleep(5 * time.Millisecond) {
		var err error
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
