// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/ponte-go/ponte/app/internal/stores"
)

// sample is the sample that keeps sessions in databases.
const sample = "examples/ideagent/postgres"

// placeOf returns where the sessions are kept: what the flag says, or a directory for the user's state.
func placeOf(given string, kinds stores.Kinds, env environment) (stores.Place, error) {
	if given == "" {
		state, err := stateDir(env)
		if err != nil {
			return stores.Place{}, err
		}
		given = filepath.Join(state, "sessions")
	}
	return kinds.At(given, sample)
}

// stateDir returns the directory for the user's state.
func stateDir(env environment) (string, error) {
	if dir := env("XDG_STATE_HOME"); filepath.IsAbs(dir) { // the specification has other values ignored
		return filepath.Join(dir, "ideagent"), nil
	}
	if dir := env("LocalAppData"); runtime.GOOS == "windows" && dir != "" {
		return filepath.Join(dir, "ideagent"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no directory for sessions: %w: use -store DIR", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "ideagent"), nil
	}
	return filepath.Join(home, ".local", "state", "ideagent"), nil
}

// localDir returns the directory for what this machine keeps beside the sessions of a place: the directory itself, or one for the database in the user's
// state. It is empty if there is none.
func localDir(p stores.Place, env environment) string {
	if dir := p.Dir(); dir != "" {
		return dir
	}
	state, err := stateDir(env)
	if err != nil {
		return ""
	}
	return filepath.Join(state, "databases", p.Key(env))
}
