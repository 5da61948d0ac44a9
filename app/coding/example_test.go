// SPDX-License-Identifier: Apache-2.0

package coding_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/session/host"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/coding"
	"github.com/ponte-go/ponte/app/offline"
)

// A coding agent as a program, and a change of a file by it.
func Example() {
	dir, err := os.MkdirTemp("", "coder")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "greeting.txt")
	if err := os.WriteFile(file, []byte("Hello, world\n"), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	var kit *coding.Kit
	code := app.Run(context.Background(), app.Config[coding.Deps, string]{
		Name: "coder",
		New: func(_ context.Context, e *app.Env) (*agent.Agent[coding.Deps, string], error) {
			kit = coding.New(e)
			return agent.New(agent.Config[coding.Deps, string]{Model: e.Model(), Toolsets: kit.Toolsets()})
		},
		Deps: func(ctx context.Context, s *host.Session, p host.Place) (coding.Deps, error) {
			return kit.Deps(ctx, s, p)
		},
		Setup: func(_ *app.Env, c *host.Config[coding.Deps, string]) error {
			coding.Configure(kit, c)
			return nil
		},
		Surfaces: []app.Surface{chat.New(chat.Options{})},
		Checks:   []func(context.Context, *app.Env) []app.Check{coding.Checks},
		Demo:     func(time.Duration) model.Model { return offline.New(offline.Config{}) },
	}, app.Process{
		Args: []string{"chat", "-model", "offline", "-dir", dir, "-yes", "replace world with Ada in greeting.txt"},
		In:   strings.NewReader(""), Out: new(strings.Builder),
	})
	text, err := os.ReadFile(file)
	fmt.Println(code, string(text), err)
	// Output:
	// 0 Hello, Ada
	//  <nil>
}
