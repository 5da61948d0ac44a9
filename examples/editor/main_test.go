// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

func TestCoderWritesThroughTheEditor(t *testing.T) {
	editor := acptest.New(acptest.Options{Files: map[string]string{"/src/a.txt": "hello"}})
	defer editor.Close()
	coder, err := newCoder(modeltest.Script(
		modeltest.Say(model.ToolCall("1", "read_file", `{"path":"/src/a.txt"}`)),
		modeltest.Say(model.ToolCall("2", "write_file", `{"path":"/src/a.txt","content":"Hello"}`)),
		modeltest.SayText("Done."),
	))
	require.NoError(t, err)
	d := editor.Deps("/src")
	res, err := coder.Run(t.Context(), Deps{d}, "Begin with a capital.", agent.WithAsker(acpbridge.Asker(d)))
	require.NoError(t, err)
	require.Equal(t, "Done.", res.Output)
	text, _ := editor.File("/src/a.txt")
	require.Equal(t, "Hello", text)
	require.Len(t, editor.Permissions(), 1, "the user was asked")
}
