// SPDX-License-Identifier: Apache-2.0

package workspace_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// A command is a Go function that sees the files.
func Example() {
	ctx := context.Background()
	ws, err := workspace.NewMemory(workspace.MemoryConfig{
		Files: map[string]string{"main.go": "package main\n"},
		Commands: map[string]workspace.MemoryScript{"go test ./...": func(_ context.Context, sh *workspace.MemoryShell) int {
			text, _ := sh.Disk.ReadFile("/project/main.go")
			if !strings.Contains(string(text), "func main") {
				fmt.Fprintln(sh, "FAIL: function main is undeclared")
				return 1
			}
			fmt.Fprintln(sh, "ok")
			return 0
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, err := ws.Start(ctx, workspace.Command{Line: "go test ./..."})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close(ctx)
	exit, _ := p.Wait(ctx)
	out, _ := p.Output(ctx, 0, 0)
	fmt.Printf("%s%d\n", out.Data, exit.Code)
	// Output:
	// FAIL: function main is undeclared
	// 1
}
