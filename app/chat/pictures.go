// SPDX-License-Identifier: Apache-2.0

package chat

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app/internal/term/text"
)

// maxPicture bounds a picture in bytes.
const maxPicture = 8 << 20

// pictureTypes are the media types of pictures that models take, by the ends of file names.
var pictureTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
}

// pictured reports whether the agent takes pictures in prompts.
func (c *console) pictured() bool {
	return c.client.Agent().AgentCapabilities.PromptCapabilities.Image
}

func readPicture(at, mediaType string) (*acp.ImageContent, error) {
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxPicture+1))
	if err == nil && len(data) > maxPicture {
		err = fmt.Errorf("%s has more than %d bytes: make the picture smaller", at, maxPicture)
	}
	if err != nil {
		return nil, err
	}
	encoded := base64.StdEncoding.EncodeToString(data)
	return &acp.ImageContent{MIMEType: mediaType, Data: encoded}, nil
}

// drop returns what stands for a file in the input, if pasted text is nothing but its path: quoted,
// with backslashes, or as a URL, as terminals paste the path of a file that is dropped on them.
func (c *console) drop(pasted string) string {
	path := strings.TrimSpace(pasted)
	if strings.ContainsAny(path, "\n\x00") || len(path) > 4096 {
		return ""
	}
	u, badURL := url.Parse(path)
	command, badWord := ParseCommand(path)
	switch {
	case badURL == nil && u.Scheme == "file":
		path = filepath.FromSlash(u.Path)
	case badWord == nil && len(command.Args)+len(command.Env) == 0 && runtime.GOOS != "windows":
		path = command.Path
	default:
		path = strings.Trim(path, `"'`)
	}
	if !filepath.IsAbs(path) || strings.ContainsAny(path, "\"\n") {
		return ""
	}
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return c.mention(path)
}

// mention returns what stands for a file in the input.
func (c *console) mention(path string) string {
	name := path
	if inside, err := filepath.Rel(c.config.Dir, path); err == nil && filepath.IsLocal(inside) {
		name = filepath.ToSlash(inside)
	}
	c.dropped[name] = path
	if strings.ContainsAny(name, " \t") {
		return `@"` + name + `"`
	}
	return "@" + name
}

// picture takes a picture from the clipboard, and mentions it in the input.
func (c *console) picture(ctx context.Context) {
	data, err := clipboard(ctx)
	c.call(func() {
		if err == nil {
			err = c.keepPicture(data)
		}
		if err != nil {
			c.model.Note("! "+explain(err), text.Style{Color: text.Yellow})
		}
	})
}

// keepPicture keeps a picture in a file until the program ends.
func (c *console) keepPicture(data []byte) error {
	if c.pictures == "" {
		dir, err := os.MkdirTemp("", "pictures-")
		if err != nil {
			return err
		}
		c.pictures = dir
	}
	path := filepath.Join(c.pictures, fmt.Sprintf("picture-%d.png", len(c.dropped)+1))
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return err
	}
	c.model.InsertMention(c.mention(path))
	return nil
}

func (c *console) removePictures() {
	if c.pictures != "" {
		_ = os.RemoveAll(c.pictures)
	}
}

// clipboard returns the picture in the clipboard, by the programs that systems have for that.
func clipboard(ctx context.Context) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	commands := [][]string{
		{"wl-paste", "--no-newline", "--type", "image/png"},
		{"xclip", "-selection", "clipboard", "-target", "image/png", "-out"},
	}
	if runtime.GOOS == "darwin" {
		commands = [][]string{{"pngpaste", "-"}}
	}
	var names []string
	found := false
	for _, words := range commands {
		names = append(names, words[0])
		if _, err := exec.LookPath(words[0]); err != nil {
			continue
		}
		found = true
		command := exec.CommandContext(ctx, words[0], words[1:]...)
		command.WaitDelay = time.Second
		var data bytes.Buffer
		command.Stdout = &limited{to: &data, left: maxPicture}
		if err := command.Run(); err == nil && bytes.HasPrefix(data.Bytes(), []byte("\x89PNG")) {
			return data.Bytes(), nil
		}
	}
	if !found {
		return nil, fmt.Errorf("pictures in the clipboard need %s: install it, or drop the file here",
			strings.Join(names, " or "))
	}
	return nil, errors.New("there is no picture in the clipboard")
}

// limited passes on a number of bytes.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errors.New("too large")
	}
	return l.to.Write(p)
}
