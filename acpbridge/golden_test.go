// SPDX-License-Identifier: Apache-2.0

package acpbridge_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acptest"
	"github.com/ponte-go/ponte/agent/model"
)

var updateGolden = flag.Bool("update", false, "rewrite golden files")

// TestUpdatesOfTheToolsAreTheGoldenOnes keeps what a client is sent, update by update, for a run that uses the tools in most ways.
func TestUpdatesOfTheToolsAreTheGoldenOnes(t *testing.T) {
	synctest.Test(t, testGoldenUpdates)
}

func testGoldenUpdates(t *testing.T) {
	editor := acptest.New(acptest.Options{
		Files:    map[string]string{"/project/main.go": "package main\n"},
		Programs: map[string]acptest.Program{"go test": acptest.Prints("FAIL\n", 1), "serve": acptest.Runs("listening\n")},
		Answers:  []acptest.Answer{acptest.AllowOnce, acptest.AllowAlways, acptest.RejectOnce, acptest.AllowOnce},
	})
	r := runTools(t.Context(), t, editor, editor.Deps("/project"), []model.Part{
		call("c1", "read_file", args{"path": "main.go", "line": 1, "limit": 10}),
		call("c2", "write_file", args{"path": "main.go", "content": "package app\n"}),
		call("c3", "run_command", args{"command": "go test ./..."}),
		call("c4", "run_command", args{"command": "rm -rf ."}),
		call("c5", "run_command", args{"command": "serve", "background": true}),
		call("c6", "wait_for_terminal_exit", args{"terminal_id": "terminal-2", "timeout_seconds": 1}),
		call("c7", "read_file", args{"path": "../secret"}),
	})
	require.NoError(t, r.err)
	var got bytes.Buffer
	for _, u := range editor.Updates() {
		data, err := json.Marshal(u.Update)
		require.NoError(t, err)
		got.Write(append(data, '\n'))
	}
	golden := filepath.Join("testdata", "toolset_updates.jsonl")
	if *updateGolden {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err, "run the test with -update to make it")
	require.Equal(t, string(want), got.String())
}

// golden compares a text with a file of testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run the test with -update to make it")
	require.Equal(t, string(want), got)
}
