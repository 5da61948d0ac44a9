// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"fmt"
	"strings"

	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/editor"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Checks are the checks of coding agents for the command doctor, for [app.Config].Checks: whether
// commands can run on this machine, in the sandbox if the configuration wants one; whether MCP
// servers list their tools within ten seconds, for which those that are programs are started; which
// language servers are installed, which are not started.
func Checks(ctx context.Context, e *app.Env) []app.Check {
	return append([]app.Check{commands(e)}, append(checkServers(ctx, e), languages(e))...)
}

func commands(e *app.Env) app.Check {
	c := app.Check{Name: "commands", Found: "run without a sandbox"}
	config := editor.Local(e)
	if config.Sandbox != nil {
		c.Found = "run in a sandbox"
		c.Mend = `install bubblewrap, or remove "sandbox" from the configuration`
	}
	config.Roots = []string{"."}
	files, err := local.Open(config)
	if c.Err = err; err == nil {
		c.Err = files.Close()
	}
	return c
}

func languages(e *app.Env) app.Check {
	c := app.Check{Name: "language servers", Found: "none is installed; see docs/lsp.md"}
	known := lsptoolset.Known()
	if text := e.Config.LanguageServers(); text != nil {
		if parsed, err := lsptoolset.ParseConfig(text); err == nil {
			known = parsed
		}
	}
	servers, err := lsptoolset.New(lsptoolset.Config{Servers: known, Run: editor.Local(e)})
	if err != nil {
		c.Err = fmt.Errorf("languageServers: %w", err)
		return c
	}
	if names := servers.Installed(); len(names) > 0 {
		c.Found = strings.Join(names, ", ")
	}
	c.Err = servers.Close()
	return c
}
