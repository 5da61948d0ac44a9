// SPDX-License-Identifier: Apache-2.0

package web

import (
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/ponte-go/ponte/internal/guard"
)

// opening is how long a browser has to open the page.
const opening = time.Minute

// open opens a page in the user's browser, if there is one. The browser is given a file that leads
// to the page and that only the user can read: every user of the machine can read the arguments of
// a command, and the address has the token. The file is removed after a minute, or by done.
func open(program, page string) (done func()) {
	file, err := leadTo(program, page)
	if err != nil {
		return func() {}
	}
	remove := sync.OnceFunc(func() { _ = os.RemoveAll(filepath.Dir(file)) })
	name, args := "xdg-open", []string{file}
	switch runtime.GOOS {
	case "darwin":
		name = "open"
	case "windows":
		name, args = "rundll32", []string{"url.dll,FileProtocolHandler", file}
	}
	cmd := exec.Command(name, args...)
	cmd.Env = guard.Environ(os.Environ(), nil) // without the keys of models
	if cmd.Start() != nil {
		remove()
		return func() {}
	}
	go func() { _ = cmd.Wait() }()
	timer := time.AfterFunc(opening, remove)
	return func() {
		timer.Stop()
		remove()
	}
}

// leadTo creates a file that redirects a browser to a page, in a new directory. Others cannot read
// either.
func leadTo(program, page string) (file string, err error) {
	dir, err := os.MkdirTemp("", program+"-")
	if err != nil {
		return "", err
	}
	address := html.EscapeString(page)
	text := fmt.Sprintf(`<!doctype html>
<meta charset="utf-8">
<title>%s</title>
<meta http-equiv="refresh" content="0; url=%s">
<a href="%s">Open the page</a>
`, program, address, address)
	file = filepath.Join(dir, "open.html")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return file, nil
}
