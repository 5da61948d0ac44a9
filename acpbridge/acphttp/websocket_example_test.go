// SPDX-License-Identifier: Apache-2.0

package acphttp_test

import (
	"context"
	"fmt"

	"github.com/ponte-go/ponte/acpbridge/acpclient"
	"github.com/ponte-go/ponte/acpbridge/acphttp"
)

// A client connects to an agent that is served over WebSocket.
func ExampleDial() {
	ctx := context.Background()
	streams, err := acphttp.DialWebSocket(ctx, "ws://127.0.0.1:1", "the token")
	if err != nil {
		fmt.Println("no agent there")
		return
	}
	client, err := acpclient.Connect(ctx, streams, streams, acpclient.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	// Output: no agent there
}
