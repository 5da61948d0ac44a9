// SPDX-License-Identifier: Apache-2.0

package all_test

import (
	"bytes"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/all"
)

// run runs a program with all surfaces and a command whose help has what means something to the
// formatter of manual pages.
func run(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	c := all.Config[any, string]{
		Name: "desk", About: `Answers "questions"`,
		Agent: agent.Must(agent.New(agent.Config[any, string]{})),
		Commands: []func(*app.Env) *cobra.Command{func(*app.Env) *cobra.Command {
			odd := &cobra.Command{Use: "odd", Short: "Has odd help", Run: func(*cobra.Command, []string) {}}
			odd.Long = ".so /etc/passwd\n'quoted\n\n\\fBnot bold\\fP"
			odd.Flags().String("name", "x", "`name` of a thing")
			odd.Flags().Bool("secret", false, "nobody sees this")
			_ = odd.Flags().MarkHidden("secret")
			return odd
		}},
	}
	var out, errs bytes.Buffer
	p := app.Process{Args: args, In: strings.NewReader(""), Out: &out, Err: &errs}
	code = all.Run(t.Context(), c, p)
	return out.String(), errs.String(), code
}

func TestSurfacesAreAll(t *testing.T) {
	help, _, code := run(t, "-h")
	require.Zero(t, code)
	for _, name := range []string{"chat", "acp", "web", "mcp", "man", "odd"} {
		require.Regexp(t, `(?m)^  `+name+` `, help)
	}
}

// TestManualHasWhatTheHelpHas compares the manual page of each command with its help.
func TestManualHasWhatTheHelpHas(t *testing.T) {
	listed := regexp.MustCompile(`(?m)^  ([a-z]+) +\S`)
	flags := regexp.MustCompile(`(?m)^ +(?:-., )?(--[a-z-]+)`)
	plain := strings.NewReplacer(`\-`, "-", `\e`, `\`)
	var visit func(path []string)
	pages := 0
	visit = func(path []string) {
		help, _, code := run(t, append(path, "-h")...)
		require.Zero(t, code)
		page, stderr, code := run(t, append([]string{"man"}, path...)...)
		require.Zero(t, code, stderr)
		pages++
		page = plain.Replace(page)
		for _, f := range flags.FindAllStringSubmatch(help, -1) {
			require.Contains(t, page, `\fB`+f[1]+`\fP`, "%v", path)
		}
		if len(path) > 0 && path[0] == "eval" {
			return // it reads its arguments itself
		}
		for _, sub := range listed.FindAllStringSubmatch(help, -1) {
			next := append(append([]string(nil), path...), sub[1])
			if sub[1] == "desk" || sub[1] == "help" { // the usage
				continue
			}
			require.Contains(t, page, `\fBdesk `+strings.Join(next, " ")+`\fP`)
			visit(next)
		}
	}
	visit(nil)
	require.Greater(t, pages, 20)
}

func TestManualIsPlainText(t *testing.T) {
	page, _, code := run(t, "man", "odd")
	require.Zero(t, code)
	require.Contains(t, page, "\n\\&.so /etc/passwd\n\\&'quoted\n.PP\n\\efBnot bold\\efP\n")
	require.Contains(t, page, "\\fB\\-\\-name\\fP \\fIname\\fP\nname of a thing (default x)\n")
	require.NotContains(t, page, "nobody sees this")
	_, stderr, code := run(t, "man", "nobody")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, `there is no command "nobody"`)

	groff, err := exec.LookPath("groff")
	if err != nil {
		return // the rest is what a formatter says
	}
	cmd := exec.CommandContext(t.Context(), groff, "-Kutf8", "-man", "-Tutf8", "-ww", "-z")
	cmd.Stdin = strings.NewReader(page)
	said, err := cmd.CombinedOutput()
	require.NoError(t, err)
	require.Empty(t, string(said))
}
