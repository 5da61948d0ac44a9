// SPDX-License-Identifier: Apache-2.0

// Floor answers one request of an editor and does nothing else.
package main

import (
	"bufio"
	"encoding/json"
	"os"
)

func main() {
	line, err := bufio.NewReader(os.Stdin).ReadBytes('\n')
	if err != nil {
		os.Exit(1)
	}
	var request struct {
		ID     json.RawMessage `json:"id"`
		Params map[string]any  `json:"params"`
	}
	if err := json.Unmarshal(line, &request); err != nil {
		os.Exit(1)
	}
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": request.Params})
}
