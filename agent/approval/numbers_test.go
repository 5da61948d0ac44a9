// SPDX-License-Identifier: Apache-2.0

package approval_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/approval"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// An address is the same in each of its forms: with one to four numbers, in three bases. A number that
// is too large makes a name of it.
func TestAddressesAreTheSameInAllTheirForms(t *testing.T) {
	const allow, deny, ask = toolset.VerdictAllow, toolset.VerdictDeny, approval.VerdictAsk
	for _, c := range []struct {
		rule string
		same []string
	}{
		{"10.200.30.254", []string{"10.200.30.254", "10.200.7934", "10.13115134", "180887294", "0xac81efe", "0xa.0xc8.0x1e.0xfe", "012.0310.036.0376", "10.200.0x1efe"}},
		{"255.254.253.252", []string{"255.254.253.252", "255.254.65020", "255.16711164", "4294901244", "0xfffefdfc"}},
		{"0.0.0.255", []string{"0.0.0.255", "0.0.255", "0.255", "255", "0xff"}},
		{"255.255.255.255", []string{"4294967295", "0xffffffff", "255.255.255.255"}},
		{"1.2.3.4", []string{"1.2.3.4", "1.2.772", "1.131844", "16909060"}},
	} {
		for _, host := range c.same {
			r := toolset.ApprovalRequest{Approval: toolset.Approval{Effects: []toolset.Effect{{Kind: model.EffectHost, Host: host}}}}
			for _, verdict := range []toolset.Verdict{allow, deny} {
				rule := fmt.Sprintf(`{"rules":[{"decision":%q,"host":%q}]}`, verdict, c.rule)
				require.Equal(t, verdict, decided(t, rule, r).Verdict, "%s against %s", host, c.rule)
			}
		}
	}
	for _, c := range []struct {
		host string
		want toolset.Verdict
	}{
		{"4294967296", allow}, {"4294967551", allow}, {"0x1000000ff", allow}, {"256.0.0.255", allow}, {"0.256.0.255", allow}, {"0.0.256.255", allow},
		{"0.0.0.0.255", allow}, {"0.0.0.254", allow}, {"0.0.1.255", allow}, {"0.1.0.255", allow}, {"1.0.0.255", allow}, {"", allow},
		{"a\u007f.example", allow}, {"a\u0080.example", ask}, {"a\u0081.example", ask}, {"a~.example", allow}, {"a%.example", ask}, {"a[.example", ask}, {"a}.example", ask},
	} {
		r := toolset.ApprovalRequest{Approval: toolset.Approval{Effects: []toolset.Effect{{Kind: model.EffectHost, Host: c.host}}}}
		require.Equal(t, c.want, decided(t, `{"mode":"auto","rules":[{"decision":"deny","host":"0.0.0.255"}]}`, r).Verdict, "%q", c.host)
	}
}

// Options of programs are found in any order, as letters of others, and abbreviated, as far as programs
// take them so.
func TestOptionsOfDeniedCommandsAreFound(t *testing.T) {
	for _, c := range []struct {
		rule, command string
		denied        bool
	}{
		{"rm -f", "rm -f", true}, {"rm -f", "rm x -f", true}, {"rm -f", "rm -fx", true}, {"rm -f", "rm -xf", true}, {"rm -f", "rm -x", false}, {"rm -f", "rm f", false},
		{"rm -f", "rm -xxxxxf", true}, {"rm -f", "rm -xxxxxxf", false}, {"rm -f", "rm --force", true}, {"rm -f", "rm --forc", true}, {"rm -f", "rm --fo", true},
		{"rm -f", "rm --f", false}, {"rm -f", "rm --forces", false}, {"rm -f", "rm --", false}, {"rm -f", "rm -", false},
		{"rm -rf", "rm -f -r", true}, {"rm -rf", "rm -fr", true}, {"rm -rf", "rm --recursive -f", true}, {"rm -rf", "rm --rec --fo", true}, {"rm -rf", "rm -r", false}, {"rm -rf", "rm -f", false},
		{"rm -abc", "rm -c -b -a", true}, {"rm -abc", "rm -cab", true}, {"rm -abc", "rm -ab", false}, {"rm -abcd", "rm -abcd", true}, {"rm -abcd", "rm -dcba", false}, {"rm -abcd", "rm -a -b -c -d", false},
		{"git push --force", "git push --force", true}, {"git push --force", "git --force push", true}, {"git push --force", "git push --fo", true}, {"git push --force", "git push --f", false},
		{"git push --force", "git push -f", true}, {"git push --force", "git push -uf", true}, {"git push --force", "git push -u", false}, {"git push --force", "git -f pull", false},
		{"go --verbose", "go --verbose", true}, {"go --verbose", "go --verb", true}, {"go --verbose", "go --v", false}, {"go --verbose", "go -v", false}, {"go --verbose", "go --verboses", false},
		{"cat -", "cat -", true}, {"cat -", "cat x", false}, {"cat -", "cat -x", false}, {"cat - x", "cat - x", true}, {"cat - x", "cat x -", false},
	} {
		argv := strings.Fields(c.command)
		r := toolset.ApprovalRequest{Approval: toolset.Approval{Effects: []toolset.Effect{{Kind: model.EffectUnknown, Argv: argv}}}}
		got := decided(t, fmt.Sprintf(`{"rules":[{"decision":"deny","command":%q}]}`, c.rule), r)
		require.Equal(t, c.denied, got.Verdict == toolset.VerdictDeny, "%q: %q", c.rule, c.command)
	}
}

// Names of members are told as they are up to 64 characters. Longer ones are cut and quoted.
func TestUnknownMembersAreToldWithinABound(t *testing.T) {
	for name, want := range map[string]string{
		"x": "x", strings.Repeat("x", 64): strings.Repeat("x", 64), strings.Repeat("x", 65): `"` + strings.Repeat("x", 64) + `"`,
		"a\nb": `"a\nb"`, "": "", `a"b`: `"a\"b"`, "é": "é", strings.Repeat("é", 33): `"` + strings.Repeat("é", 33) + `"`,
	} {
		data, err := json.Marshal(map[string]int{name: 1})
		require.NoError(t, err)
		_, err = approval.ParseConfig(data)
		var e *approval.ConfigError
		require.ErrorAs(t, err, &e)
		require.Equal(t, want, e.Field)
		require.Equal(t, []int{1, 2}, []int{e.Line, e.Column})
		require.True(t, strings.HasPrefix(err.Error(), "approval: configuration: line 1, column 2: "), err)
	}
}

// A judge is shown 64 KiB if nothing else is said, and not a byte more.
func TestJudgesAreShown64KiB(t *testing.T) {
	decides := func(most, size int) bool {
		r := request("x")
		r.Args = json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
		failed := false
		d, _ := judged(t, approval.Judge{MaxBytes: most, OnError: func(context.Context, *toolset.ApprovalRequest, error) { failed = true }}, r, allows)
		require.Equal(t, failed, d.By == "person")
		return !failed
	}
	size := 64 << 10
	for !decides(64<<10, size) {
		size--
	}
	require.Greater(t, size, 64<<10-200)
	require.True(t, decides(0, size))
	require.False(t, decides(0, size+1))
	require.True(t, decides(64<<10+1, size+1))
	require.False(t, decides(64<<10-1, size))
	require.False(t, decides(1, 0))
}

// The wider rules that are offered have numbers from 1, in the session or in the project.
func TestWiderChoicesHaveNumbers(t *testing.T) {
	ids := func(r toolset.ApprovalRequest) (all []string) {
		for _, c := range approval.Choices(&r, true) {
			all = append(all, c.ID+": "+c.Title)
		}
		return all
	}
	r := request("go test ./a")
	r.Approval.Wider = []model.WiderScope{{Scope: "go test", Title: "go test"}, {Scope: "go", Title: "go"}}
	for _, lasting := range []bool{false, true} {
		r.Lasting = lasting
		where, project := "session", []string(nil)
		if lasting {
			where, project = "project", []string{"allow_always_project: Always allow run for go test ./a in this project"}
		}
		want := append([]string{"allow_once: Allow once", "allow_always: Always allow run for go test ./a in this session"}, project...)
		want = append(want, "allow_always_wider_1: Always allow go test in this "+where, "allow_always_wider_2: Always allow go in this "+where, "reject_once: Reject")
		require.Equal(t, append(want[:len(want):len(want)], "reject_always: Always reject run for go test ./a in this session"), ids(r))
		one := r
		one.Approval.Parts = []string{"go test ./a"}
		require.Equal(t, append(want, "reject_always: Always reject exactly this in this session"), ids(one))
	}
}
