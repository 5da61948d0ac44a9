// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/toolset/workspace"
)

// The files of an editor are read and written like those of any other workspace.
func ExampleNewWorkspace() {
	ctx := context.Background()
	editor := acptest.New(acptest.Options{Files: map[string]string{"/project/a.txt": "saved\n"}})
	defer editor.Close()
	editor.Type("/project/a.txt", "typed\n")
	ws, err := acpbridge.NewWorkspace(editor.Deps("/project"), acpbridge.LocalFallback{})
	if err != nil {
		panic(err)
	}
	defer ws.Close()

	f, err := ws.Read(ctx, "a.txt", workspace.Range{})
	fmt.Printf("%s%v\n", f.Data, err)
	editor.Type("/project/a.txt", "typed again\n")
	_, err = ws.Write(ctx, "a.txt", []byte("new\n"), f.Version)
	fmt.Println(err)
	// Output:
	// typed
	// <nil>
	// workspace: write "a.txt": has changed
}
