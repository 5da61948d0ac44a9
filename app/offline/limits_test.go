// SPDX-License-Identifier: Apache-2.0

package offline_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/app/offline"
)

// answered returns what the model says once the tools that it calls for a request have said result.
func answered(t *testing.T, request, result string, tools ...string) string {
	t.Helper()
	req := &model.Request{Messages: []*model.Message{model.UserText(request)}}
	for _, name := range tools {
		req.Tools = append(req.Tools, model.ToolDef{Name: name})
	}
	for range 5 {
		m, err := offline.New(offline.Config{}).Generate(t.Context(), req, nil)
		require.NoError(t, err)
		calls := callsOf(m)
		if len(calls) == 0 {
			return m.Text()
		}
		results := &model.Message{Kind: model.KindRequest}
		for _, call := range calls {
			results.Parts = append(results.Parts, model.ToolReturn(call.CallID, call.Tool, result))
		}
		req.Messages = append(req.Messages, m, results)
	}
	t.Fatal("the model does not end")
	return ""
}

// Long results are shown as far as people read them.
func TestLongResultsAreCut(t *testing.T) {
	for request, test := range map[string]struct {
		tool, before string
		most         int
	}{
		"where is Celsius defined?": {"find_definition", "", 20},
		"who calls Celsius?":        {"find_references", "", 20},
		"rename Celsius to Degrees": {"rename_symbol", "", 20},
		"what is broken?":           {"get_diagnostics", "", 20},
		"replace a with b in a.txt": {"edit_file", "Edited a.txt. Lines 1 to 30 are now:\n", 20},
		"search TODO":               {"search_files", "", 20},
		"list files":                {"list_files", "", 40},
		"read a.txt":                {"read_file", "", 40},
		"use some_tool {}":          {"some_tool", "", 40},
	} {
		for n := test.most - 1; n <= test.most+2; n++ {
			said := answered(t, request, test.before+numberedLines(n), test.tool)
			shown := min(n, test.most)
			require.Contains(t, said, "```", request)
			require.Contains(t, said, "\n"+strings.TrimSuffix(numberedLines(shown), "\n")+"\n```\n\n", "%s: %d lines", request, n)
			_, after, _ := strings.Cut(said, "\n```\n\n")
			want := map[int]string{1: "… and 1 line more.\n\n", 2: "… and 2 lines more.\n\n"}[n-test.most]
			require.Equal(t, want, after, "%s: %d lines", request, n)
		}
	}
}

// numberedLines are so many lines, the last one with its end.
func numberedLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// Of the output of a command the end is shown, with how it ended.
func TestLongOutputIsShownFromItsEnd(t *testing.T) {
	for n, want := range map[int]string{
		0:  "I ran `ls`: exit code 0.\n\n",
		1:  "I ran `ls`: exit code 0:\n\n```\nline 1\n```\n\n",
		20: "I ran `ls`: exit code 0:\n\n```\n" + numberedLines(20) + "```\n\n",
		21: "I ran `ls`: exit code 0. The last 20 of 21 lines:\n\n```\n" + strings.TrimPrefix(numberedLines(21), "line 1\n") + "```\n\n",
		22: "I ran `ls`: exit code 0. The last 20 of 22 lines:\n\n```\n" + strings.TrimPrefix(numberedLines(22), "line 1\nline 2\n") + "```\n\n",
	} {
		require.Equal(t, want, answered(t, "run ls", numberedLines(n)+"[exit code 0]", "run_command"), "%d lines", n)
	}
	require.Equal(t, "I ran `ls`:\n\n```\n[x\n```\n\n", answered(t, "run ls", "[x", "run_command"))
}

func TestWhereAFileIsReadFrom(t *testing.T) {
	for request, want := range map[string]string{
		"read a.txt":                      "`a.txt`:",
		"read a.txt from line 1":          "`a.txt`, from line 1:",
		"read a.txt from line 2":          "`a.txt`, from line 2:",
		"read line 1 of a.txt":            "`a.txt`, from line 1:",
		"read the first 1 lines of a.txt": "`a.txt`, from line 1:",
		"read a.txt lines 2-3":            "`a.txt`, from line 2:",
	} {
		require.Equal(t, want+"\n\n```txt\nx\n```\n\n", answered(t, request, "x\n", "read_file"), request)
	}
}

// Requests are read as far as people write them.
func TestRequestsAreReadUpToLimits(t *testing.T) {
	for name, test := range map[string]struct {
		begin, again, end string
		most              int
		within, beyond    string
	}{
		"words before a verb":     {"", "please ", "read a.txt", 20, "1. read a.txt.", "I did not understand"},
		"calls with arguments":    {"", "use list_files {}; ", "wait", 20, "20. use `list_files`", "are not a JSON object: `{}`"},
		"marks after a quotation": {`read "a.txt"`, "!", " and run ls", 8, "1. read a.txt. 2. run `ls`", `1. read "a.txt". 2. run`},
		"polite words":            {"", "thanks ", "", 20, "This is the offline demo model", "I did not understand"},
		"words of a name":         {"rename ", "x ", "to y", 99, "in which file?", "I did not understand"},
		"words before arguments":  {"use x ", "x ", `call {}`, 97, "the arguments of `x` are not a JSON object", "I did not understand"},
		"words after the verb":    {"use list ", "x ", `{}`, 4, "the arguments of `list` are not a JSON object", "I did not understand"},
		"what is quoted":          {`search "` + strings.Repeat("\r", 910), "x", `"`, 50, "search `" + strings.Repeat("x", 50) + "` in", "search `" + strings.Repeat("x", 50) + "` in"},
		"long texts":              {"search ", "x", "", 60, "search `" + strings.Repeat("x", 60) + "` in", "search `" + strings.Repeat("x", 59) + "…` in"},
	} {
		for n := test.most; n <= test.most+1; n++ {
			want := map[bool]string{true: test.within, false: test.beyond}[n == test.most]
			if name == "calls with arguments" && n == test.most {
				want = "20. use `list_files`. 21. wait 1s."
			}
			synctest.Test(t, func(t *testing.T) {
				require.Contains(t, heard(t, test.begin+strings.Repeat(test.again, n)+test.end), want, "%s: %d", name, n)
			})
		}
	}
}

// Words of the grammar may stand where a text is expected, or where nothing is left to be one.
func TestShortRequests(t *testing.T) {
	for request, want := range map[string]string{
		"rename x in to y":             "= in which file should I replace `x in`?",
		"change x in to y":             "= in which file should I replace `x in`?",
		"change in to y":               "= in which file? Say, for example, `replace old with new in main.go`.",
		`search "x" in docs`:           `search_files {"pattern":"x","literal":true,"path":"docs"}`,
		`search "x" within in`:         `search_files {"pattern":"x","literal":true,"path":"in"}`,
		`search "x y"`:                 `search_files {"pattern":"x y","literal":true,"path":"."}`,
		"read a.txt, then show line 2": "1. read a.txt. 2. read a.txt, lines 2-2.",
		"create a.txt with ``````":     `write_file {"path":"a.txt","content":""}`,
		"use `{\"a\":1}`":              "= which tool should I use?",
		"wait 0s":                      "1. wait 0s.",
		"wait 0 seconds":               "1. wait 0s.",
		"wait 0.5 minutes":             "1. wait 30s.",
		"wait 60 minutes":              "1. wait 1h0m0s.",
		"wait 61 minutes":              "= I wait for an hour at most.",
		"ls -l":                        "run_command {\"command\":\"ls -l\"}",
		"run":                          "= which command should I run?",
		"run tests":                    "list_files",
		"test":                         "list_files",
		"revert":                       "= I did not understand `revert`.",
	} {
		synctest.Test(t, func(t *testing.T) { require.Contains(t, heard(t, request), want, request) })
	}
}
