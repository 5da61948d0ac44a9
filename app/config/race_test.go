// SPDX-License-Identifier: Apache-2.0

package config_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/app/config"
	"github.com/ponte-go/ponte/toolset"
)

const keepsIn = "PONTE_KEEPS_IN" // the test is one of the processes

// Answers that several processes keep at the same time are all kept, with the comments.
func TestAnswersOfSeveralProcessesAreAllKept(t *testing.T) {
	const processes, answers = 6, 15
	keeps := func(file, who string) {
		k := &config.Keeper{File: file, Project: "/p"}
		for i := range answers {
			rule := approval.Rule{Tool: "run_command", Scope: fmt.Sprintf("%s %d", who, i), Verdict: toolset.VerdictAllow}
			require.NoError(t, k.Keep(rule))
		}
	}
	if file := os.Getenv(keepsIn); file != "" {
		keeps(file, strconv.Itoa(os.Getpid()))
		return
	}
	self, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "config.json")
	require.NoError(t, os.WriteFile(file, []byte(commented), 0o600))
	all := make([]*exec.Cmd, processes)
	for i := range all {
		all[i] = exec.CommandContext(t.Context(), self, "-test.run=^"+t.Name()+"$")
		all[i].Env = append(os.Environ(), keepsIn+"="+file)
		require.NoError(t, all[i].Start())
	}
	keeps(file, "this")
	for _, cmd := range all {
		require.NoError(t, cmd.Wait())
	}
	kept, err := (&config.Keeper{File: file, Project: "/p"}).Kept()
	require.NoError(t, err)
	require.Len(t, kept, (processes+1)*answers)
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), "// which model answers")
}
