// SPDX-License-Identifier: Apache-2.0

package all_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// version finds the version of the program, which is that of the build.
var version = regexp.MustCompile(`"desk [^"]+"`)

// TestPageOfACommandIsWhole compares the page of a command up to the options that all commands have, and some of those.
func TestPageOfACommandIsWhole(t *testing.T) {
	page, _, code := run(t, "man", "odd")
	require.Zero(t, code)
	page = version.ReplaceAllString(page, `"desk VERSION"`)
	own, global, ok := strings.Cut(page, ".SH GLOBAL OPTIONS\n")
	require.True(t, ok)
	require.Equal(t, `.TH "DESK\-ODD" 1 "" "desk VERSION"
.SH NAME
desk\-odd \- Has odd help
.SH SYNOPSIS
.B desk odd [flags]
.SH DESCRIPTION
\&.so /etc/passwd
\&'quoted
.PP
\efBnot bold\efP
.SH OPTIONS
.TP
\fB\-h\fP, \fB\-\-help\fP
help for odd
.TP
\fB\-\-name\fP \fIname\fP
name of a thing (default x)
`, own)
	require.Contains(t, global, ".TP\n\\fB\\-\\-no\\-store\\fP\n")
	require.NotContains(t, global, "(default false)")
	require.NotContains(t, global, ".SH", "it has no commands")
	require.Equal(t, 0, strings.Count(global, "(default )"))

	page, _, code = run(t, "man")
	require.Zero(t, code)
	require.True(t, strings.HasPrefix(version.ReplaceAllString(page, `"desk VERSION"`), ".TH \"DESK\" 1 \"\" \"desk VERSION\"\n.SH NAME\ndesk \\- Answers \"questions\"\n"), page[:100])
	require.Equal(t, 1, strings.Count(page, ".SH COMMANDS\n"))
	require.Contains(t, page, ".TP\n\\fBdesk odd\\fP\nHas odd help\n")
	require.NotContains(t, page, "completion\\fP\nGenerate the autocompletion script for the specified shell\n.SH")
}

// TestCommandsOfTheManualAreCompleted completes the names of commands behind "man".
func TestCommandsOfTheManualAreCompleted(t *testing.T) {
	for _, c := range []struct {
		args []string
		want []string
		not  []string
	}{
		{[]string{""}, []string{"odd\tHas odd help\n", "chat\t", "man\t"}, nil}, {[]string{"o"}, []string{"odd\tHas odd help\n"}, []string{"chat\t", "man\t"}},
		{[]string{"sessions", ""}, []string{"list\t"}, []string{"odd\t"}}, {[]string{"odd", ""}, nil, []string{"odd\t", "chat\t"}}, {[]string{"nobody", ""}, nil, []string{"odd\t", "chat\t"}},
	} {
		out, _, code := run(t, append([]string{"__complete", "man"}, c.args...)...)
		require.Zero(t, code)
		for _, want := range c.want {
			require.Contains(t, out, want, c.args)
		}
		for _, not := range c.not {
			require.NotContains(t, out, not, c.args)
		}
		require.Contains(t, out, ":4\n", "names of files are not completed")
	}
}
