// SPDX-License-Identifier: Apache-2.0

package all

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ponte-go/ponte/app"
)

// manual is the command "man".
type manual struct{}

// Name implements [app.Surface].
func (manual) Name() string { return "man" }

// Command implements [app.Surface].
func (manual) Command(e *app.Env) *cobra.Command {
	return &cobra.Command{
		Use: "man [COMMAND]", GroupID: "other",
		Short:             "Write the manual page of the program, or of a command",
		ValidArgsFunction: completeCommands,
		RunE: func(cmd *cobra.Command, args []string) error {
			of, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return app.Usage("there is no command %q", strings.Join(args, " "))
			}
			if _, err := io.WriteString(e.Out, page(e, of)); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			return nil
		},
	}
}

// completeCommands returns the commands below the one that the arguments name.
func completeCommands(
	c *cobra.Command, args []string, word string,
) (all []cobra.Completion, d cobra.ShellCompDirective) {
	of, rest, err := c.Root().Find(args)
	if err != nil || len(rest) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	for _, sub := range of.Commands() {
		if sub.IsAvailableCommand() && strings.HasPrefix(sub.Name(), word) {
			all = append(all, cobra.CompletionWithDesc(sub.Name(), sub.Short))
		}
	}
	return all, cobra.ShellCompDirectiveNoFileComp
}

// page returns the manual page of a command in the format of man(7). The package doc of cobra makes
// it by way of Markdown, whose parser costs each start of a program as much as the rest of cobra.
func page(e *app.Env, c *cobra.Command) string {
	var p strings.Builder
	c.InitDefaultHelpFlag()
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	fmt.Fprintf(&p, ".TH %s 1 \"\" %s\n", quoted(strings.ToUpper(name)), quoted(e.Name+" "+e.Version))
	fmt.Fprintf(&p, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&p, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	p.WriteString(".SH DESCRIPTION\n")
	for i, paragraph := range strings.Split(cmp.Or(c.Long, c.Short), "\n\n") {
		if i > 0 {
			p.WriteString(".PP\n")
		}
		p.WriteString(roff(paragraph) + "\n")
	}
	options(&p, "OPTIONS", c.NonInheritedFlags())
	options(&p, "GLOBAL OPTIONS", c.InheritedFlags())
	first := ".SH COMMANDS\n"
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			fmt.Fprintf(&p, "%s.TP\n\\fB%s\\fP\n%s\n", first, roff(sub.CommandPath()), roff(sub.Short))
			first = ""
		}
	}
	return p.String()
}

// options writes a section about flags that are not hidden.
func options(p *strings.Builder, title string, flags *pflag.FlagSet) {
	first := ".SH " + title + "\n"
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		value, text := pflag.UnquoteUsage(f)
		p.WriteString(first + ".TP\n")
		if first = ""; f.Shorthand != "" {
			fmt.Fprintf(p, "\\fB%s\\fP, ", roff("-"+f.Shorthand))
		}
		fmt.Fprintf(p, "\\fB%s\\fP", roff("--"+f.Name))
		if value != "" {
			fmt.Fprintf(p, " \\fI%s\\fP", roff(value))
		}
		if d := f.DefValue; d != "" && d != "false" && d != "0s" {
			text += " (default " + d + ")"
		}
		fmt.Fprintf(p, "\n%s\n", roff(text))
	})
}

var escapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n.", "\n\\&.", "\n'", "\n\\&'")

// roff returns text as it is, whatever it means to the formatter.
func roff(text string) string {
	return strings.TrimPrefix(escapes.Replace("\n"+text), "\n")
}

// quoted returns text as an argument of a request.
func quoted(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }
