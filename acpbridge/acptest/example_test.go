// SPDX-License-Identifier: Apache-2.0

package acptest_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/acpbridge/acptest"
)

// A tool of your own that uses the client: the fake is the editor. For an agent with the tools of package acpbridge see the example of
// acpbridge.Toolset.
func ExampleNew() {
	ctx := context.Background()
	editor := acptest.New(acptest.Options{
		Files:    map[string]string{"/project/todo.txt": "1. sleep\n"},
		Programs: map[string]acptest.Program{"wc": acptest.Prints("1 todo.txt\n", 0)},
	})
	defer editor.Close()
	editor.Type("/project/todo.txt", "1. sleep\n2. eat\n") // the user has not saved this

	d := editor.Deps("/project")
	file, err := d.Client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: d.Session.ID, Path: "/project/todo.txt"})
	if err != nil {
		panic(err)
	}
	fmt.Print(file.Content)

	_, _ = d.Client.CreateTerminal(ctx, &acp.CreateTerminalRequest{SessionID: d.Session.ID, Command: "wc", Args: []string{"todo.txt"}})
	fmt.Println(editor.Open())

	_, _ = d.Client.ReadTextFile(ctx, &acp.ReadTextFileRequest{SessionID: d.Session.ID, Path: "todo.txt"})
	fmt.Println(editor.Violations())
	// Output:
	// 1. sleep
	// 2. eat
	// [wc todo.txt]
	// [fs/read_text_file: the path "todo.txt" is not absolute]
}
