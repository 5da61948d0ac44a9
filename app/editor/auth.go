// SPDX-License-Identifier: Apache-2.0

package editor

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge"
	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app"
)

// The methods of authentication. Both use what the command "login" stores.
const (
	storedKey   acp.AuthMethodID = "stored-key"
	enterTheKey acp.AuthMethodID = "enter-key"
)

// auth logs the user in and out.
type auth struct {
	program string
	*app.Login
}

var _ acpbridge.Auth = auth{}

// Methods implements [acpbridge.Auth].
func (a auth) Methods() []acp.AuthMethod {
	return []acp.AuthMethod{
		{Terminal: &acp.AuthMethodTerminal{
			ID: enterTheKey, Name: "Enter an API key", Description: new(
				"Asks for the key of " + a.Provider() + " and keeps it in the system's keyring.",
			), Args: []string{"login"},
		}},
		{Agent: &acp.AuthMethodAgent{
			ID: storedKey, Name: "Use the stored API key", Description: new(fmt.Sprintf(
				"Run \"%s login %s\" in a terminal first.", a.program, a.Provider(),
			)),
		}},
	}
}

// Authenticate implements [acpbridge.Auth].
func (a auth) Authenticate(ctx context.Context, _ acp.AuthMethodID) error { return a.Again(ctx) }
