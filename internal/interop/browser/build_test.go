// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPageIsBuiltFromItsSources builds the page from the packages that its lock file pins, and compares the files with those that are
// committed. It also checks the types and runs the unit tests of the page, because they need the same packages.
func TestPageIsBuiltFromItsSources(t *testing.T) {
	deep(t)
	chatui, dir := chatuiDir, t.TempDir()
	page := copyPage(t, dir)
	for _, script := range []string{"check", "test", "build"} {
		cmd := exec.Command("npm", "run", script)
		cmd.Dir = page
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("npm run %s: %v\n%s", script, err, out)
		}
	}
	committed, built := contents(t, filepath.Join(chatui, "dist")), contents(t, filepath.Join(dir, "dist"))
	for name := range committed {
		if _, ok := built[name]; !ok {
			t.Errorf("%s is committed and not built", name)
		}
	}
	for name, text := range built {
		if committed[name] != text {
			t.Errorf("%s is not what is committed: build the page and commit dist", name)
		}
	}
}

var chatuiDir = filepath.Join("..", "..", "..", "webbridge", "chatui")

// copyPage copies the sources of the page to DIR/page, and installs the packages that they are built with.
func copyPage(t *testing.T, dir string) (page string) {
	t.Helper()
	page = filepath.Join(dir, "page")
	source := os.DirFS(filepath.Join(chatuiDir, "page"))
	for _, name := range []string{"src", "test"} {
		part, err := fs.Sub(source, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(filepath.Join(page, name), part); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"package.json", "package-lock.json", "tsconfig.json", "vite.config.ts", "vite.test.ts", "index.html"} {
		body, err := fs.ReadFile(source, name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(page, name), body, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if err := npm(page, "install"); err != nil {
		missing(t, err)
	}
	return page
}

func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := os.ReadFile(name)
		all[strings.TrimPrefix(name, dir)] = string(body)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
