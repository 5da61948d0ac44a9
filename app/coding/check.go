// SPDX-License-Identifier: Apache-2.0

package coding

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/editor"
	"github.com/ponte-go/ponte/toolset/lsptoolset"
	"github.com/ponte-go/ponte/toolset/mcptoolset"
	"github.com/ponte-go/ponte/toolset/workspace/local"
)

// Checks are the checks of coding agents for the command doctor, for [app.Config].Checks: whether
// commands can run on this machine, in the sandbox if the configuration wants one; whether the
// programs of MCP servers are there; which language servers are installed. Servers are not started.
func Checks(_ context.Context, e *app.Env) []app.Check {
	return append([]app.Check{commands(e)}, append(programs(e), languages(e))...)
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

func programs(e *app.Env) (all []app.Check) {
	text := e.Config.MCPServers()
	if text == nil {
		return nil
	}
	servers, err := mcptoolset.ParseConfig(text, os.LookupEnv)
	if err != nil {
		return nil // a problem of the configuration
	}
	for _, s := range servers {
		program, ok := s.Transport.(mcptoolset.Command)
		if !ok || s.Disabled {
			continue
		}
		c := app.Check{Name: "MCP server " + s.Name, Found: program.Path}
		if _, err := exec.LookPath(program.Path); err != nil {
			c.Err, c.Mend = err, "install the program, or correct the command in mcpServers of the configuration"
		}
		all = append(all, c)
	}
	return all
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
