// SPDX-License-Identifier: Apache-2.0

package local

import (
	_ "embed"
	"os"
	"path/filepath"
	"strings"
)

//go:embed hidden.txt
var hiddenText string

// elsewhere are the variables that move directories of the home.
var elsewhere = map[string]string{
	".config/": "XDG_CONFIG_HOME", ".local/state/": "XDG_STATE_HOME", ".local/share/": "XDG_DATA_HOME",
}

// Hidden returns what commands in a sandbox see as empty by default: the files and directories of
// the user that commonly hold keys, passwords and cookies, such as ~/.ssh and ~/.netrc. They need
// not exist. Use it to add to [Sandbox.Hidden].
func Hidden() []string {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil
	}
	var all []string
	for line := range strings.Lines(hiddenText) {
		name := strings.TrimSpace(line)
		if name == "" || strings.HasPrefix(name, "#") {
			continue
		}
		all = append(all, filepath.Join(home, filepath.FromSlash(name)))
		for below, variable := range elsewhere {
			rest, ok := strings.CutPrefix(name, below)
			if dir := os.Getenv(variable); ok && filepath.IsAbs(dir) {
				all = append(all, filepath.Join(dir, filepath.FromSlash(rest)))
			}
		}
	}
	return all
}
