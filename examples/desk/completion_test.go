// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCandidates asks the program for what shells offer. A colon and a number behind the candidates
// say what else a shell does: 4 offers no files, 16 offers directories.
func TestCandidates(t *testing.T) {
	v := visitor{T: t, dir: t.TempDir()}
	id := v.asked(hello)
	for line, want := range map[string]string{
		"man sessions ex": "export\t* :4",
		"man nothing ":    ":4",
		"sessions show -store=" + v.store() + " ":              id + "\t* :36",
		"sessions show -store=" + v.store() + "x ":             ":36",
		"sessions purge --store " + v.store() + " " + id + " ": ":36",
		"sessions list ": ":4",
		"chat -model offline --store " + v.store() + " --resume ": id + "\t* :36",
		"chat --agent ":              "*claude-acp\t* :0",
		"chat --dir ":                ":16",
		"--store ":                   ":16",
		"--config ":                  ":0",
		"--model ":                   "offline openai:*:4",
		"--encrypt k":                "keyring :0",
		"sessions export --as ":      "test case :4",
		"web --addr ":                ":4",
		"web ":                       ":4",
		"acp ":                       ":4",
		"login ":                     "openai\tOPENAI_API_KEY *:4",
		"login openai ":              ":4",
		"logout mis":                 "mistral\tMISTRAL_API_KEY :4",
		"sessions purge --older ":    ":4",
		"sessions export --package ": ":4",
	} {
		got := strings.Join(strings.Split(v.does(append([]string{"__complete"}, strings.Split(line, " ")...)...), "\n"), " ")
		at := 0
		for part := range strings.SplitSeq(want, "*") {
			i := strings.Index(got[at:], part)
			require.GreaterOrEqual(t, i, 0, "%q: %q is not in %q", line, part, got)
			at += i + len(part)
		}
		if begin, _, _ := strings.Cut(want, "*"); begin != "" {
			require.True(t, strings.HasPrefix(got, begin), "%q: %q", line, got)
		}
	}
}
