// SPDX-License-Identifier: Apache-2.0

package local_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

func ExampleOpen() {
	dir, err := os.MkdirTemp("", "project")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ws, err := local.Open(local.Config{Roots: []string{dir}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer ws.Close() // ends the commands that are still running

	ctx := context.Background()
	if _, err := ws.Write(ctx, "notes/today.txt", []byte("Buy milk.\n"), ""); err != nil {
		fmt.Println(err)
	}
	_, err = ws.Read(ctx, "../secret", workspace.Range{})
	fmt.Println(errors.Is(err, workspace.ErrOutside))
	// Output: true
}
