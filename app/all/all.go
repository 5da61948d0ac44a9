// SPDX-License-Identifier: Apache-2.0

// Package all has all surfaces of package app, keeps sessions in SQLite and keys in the keyring. It links most of this
// module; a program that needs less names what it needs.
package all

import (
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	"github.com/ponte-go/ponte/app/editor"
	_ "github.com/ponte-go/ponte/app/keyring"
	"github.com/ponte-go/ponte/app/mcp"
	_ "github.com/ponte-go/ponte/app/sqlite" // sessions outlive the program
	"github.com/ponte-go/ponte/app/web"
)

// Surfaces returns chat, acp, web and mcp with their defaults, and a command that writes the manual.
func Surfaces() []app.Surface { return With(nil) }

// With is [Surfaces] for an agent whose sessions are served to editors and terminals in its own way:
// see [editor.Options].
func With(bridge func() acpbridge.Options) []app.Surface {
	return []app.Surface{
		chat.New(chat.Options{Bridge: bridge}), editor.New(editor.Options{Bridge: bridge}), web.New(web.Options{}), mcp.New(mcp.Options{}), manual{},
	}
}

// manual is the command "man".
type manual struct{}

// Name implements [app.Surface].
func (manual) Name() string { return "man" }

// Command implements [app.Surface].
func (manual) Command(e *app.Env) *cobra.Command {
	return &cobra.Command{
		Use: "man [COMMAND]", Short: "Write the manual page of the program, or of a command", GroupID: "other",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			of, _, err := cmd.Root().Find(args)
			if err != nil || len(args) > 0 && of == cmd.Root() {
				return app.Usage("there is no command %q", args[0])
			}
			if err := doc.GenMan(of, &doc.GenManHeader{Section: "1", Source: e.Name + " " + e.Version}, e.Out); err != nil {
				return fmt.Errorf("man: %w", err)
			}
			return nil
		},
	}
}
