// SPDX-License-Identifier: Apache-2.0

package checkpoint_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/toolset/workspace"
	"github.com/ponte-go/ponte/toolset/workspace/checkpoint"
)

// A turn is undone. What the user changed in the same file meanwhile stays.
func ExampleRecorder_Undo() {
	ctx := context.Background()
	files, err := workspace.NewMemory(workspace.MemoryConfig{Files: map[string]string{"poem.txt": "Roses are red\nViolets are blue\nSugar is sweet\n"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	recorder := checkpoint.New(files, checkpoint.Options{})

	turn := recorder.Mark("make it green")
	_, err = recorder.Write(ctx, "poem.txt", []byte("Roses are green\nViolets are blue\nSugar is sweet\n"), workspace.AnyVersion)
	if err != nil {
		fmt.Println(err)
		return
	}
	changes, err := recorder.Changes(checkpoint.Only(turn.ID))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(changes.Diff())

	_ = files.Disk().WriteFile("/project/poem.txt", []byte("Roses are green\nViolets are blue\nSugar is sweet\nby Ada\n"), 0o644)
	if _, err := recorder.Undo(ctx, checkpoint.Only(turn.ID)); err != nil {
		fmt.Println(err)
		return
	}
	f, _ := files.Read(ctx, "poem.txt", workspace.Range{})
	fmt.Printf("\n%s", f.Data)
	// Output:
	// --- a/poem.txt
	// +++ b/poem.txt
	// @@ -1,3 +1,3 @@
	// -Roses are red
	// +Roses are green
	//  Violets are blue
	//  Sugar is sweet
	//
	// Roses are red
	// Violets are blue
	// Sugar is sweet
	// by Ada
}
