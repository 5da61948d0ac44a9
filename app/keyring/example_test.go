// SPDX-License-Identifier: Apache-2.0

package keyring_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/zalando/go-keyring"

	"github.com/ponte-go/ponte/agent"
	_ "github.com/ponte-go/ponte/agent/model/openaimodel"
	"github.com/ponte-go/ponte/app"
	"github.com/ponte-go/ponte/app/chat"
	_ "github.com/ponte-go/ponte/app/keyring"
)

// The user keeps a key in the system's keyring, and forgets it.
func Example() {
	keyring.MockInit() // in place of the system's
	home, err := os.MkdirTemp("", "desk")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(home)
	for _, name := range []string{"HOME", "XDG_CONFIG_HOME", "AppData"} {
		os.Setenv(name, home)
	}
	for _, args := range [][]string{{"login", "openai"}, {"logout", "openai"}} {
		app.Run(context.Background(), app.Config[any, string]{
			Name: "desk", Agent: agent.Must(agent.New(agent.Config[any, string]{})),
			Surfaces: []app.Surface{chat.New(chat.Options{})},
		}, app.Process{
			Args: args, In: strings.NewReader("the-key\n"), Out: os.Stdout,
			Getenv: func(name string) string {
				return map[string]string{"DBUS_SESSION_BUS_ADDRESS": "unix:path=/nowhere"}[name]
			},
		})
	}
	// Output:
	// The key is kept in the system's keyring.
	// The key is removed.
}
