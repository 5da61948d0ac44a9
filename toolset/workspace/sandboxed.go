// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// SandboxScope is the scope of all commands that run in the sandbox of a workspace, without the
// network: see [Features].
const SandboxScope = "in the sandbox"

// sandboxEffects are the effects of where a command runs.
func (c *call) sandboxEffects(cmd *prepared) []model.Effect {
	switch {
	case !c.ws.Features().Sandboxed:
		return nil
	case cmd.Sandbox == "":
		return []model.Effect{{Kind: model.EffectSandbox}}
	case cmd.Sandbox == model.SandboxNetwork:
		return []model.Effect{{Kind: model.EffectSandbox}, {Kind: model.EffectHost, Host: "*"}}
	}
	return []model.Effect{{Kind: model.EffectOutside}}
}

// What programs write when a sandbox has refused something.
var (
	refusedFiles = []string{
		"read-only file system", "permission denied", "operation not permitted", "erofs",
		"device or resource busy",
	}
	refusedNetwork = []string{
		"could not resolve host", "temporary failure in name resolution", "network is unreachable",
		"name or service not known", "eai_again", "enetunreach", "no such host", "enotfound",
		"connection refused",
	}
	refusedSockets = []string{"address family not supported", "docker daemon", "eafnosupport"}
)

// deniedNote tells the model what the sandbox has probably denied to a command, and what it can ask
// for. leave is set if it can ask.
func deniedNote(exit *Exit, output string, leave bool, sandbox string) string {
	if exit == nil || exit.Code == 0 && exit.Signal == "" {
		return ""
	}
	output = strings.ToLower(output)
	says := func(all []string) bool {
		for _, text := range all {
			if strings.Contains(output, text) {
				return true
			}
		}
		return false
	}
	what, ask := "", `"none"`
	switch {
	case sandbox == "" && says(refusedNetwork):
		what, ask = "it has no network", `"network"`
	case says(refusedSockets):
		what = "it cannot use sockets of other programs"
	case says(refusedFiles):
		what = "it can write only in the working directories and its own /tmp, not to protected " +
			"files, and cannot see keys"
	default:
		return ""
	}
	note := "; the command ran in the sandbox, which may be why: " + what
	if leave {
		note += ". If it needs that, run it again with sandbox " + ask + ", which asks the user"
	}
	return note
}
