// SPDX-License-Identifier: Apache-2.0

//go:build unix

package mcptoolset_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/toolset/mcptoolset"
)

// banners are what servers write to their standard output although it is for messages.
var banners = map[string]string{
	"banner":   "Starting server on stdio...\n\n  Version 1.0\n",
	"log":      "[INFO] ready\n[2026-11-23] {\"level\":\"info\"\n{INFO: braces}\n{\"level\":\"info\"}\n[{\"level\":1}]\n",
	"mark":     "\ufeff",
	"escapes":  "\x1b[32mgreen\x1b[0m \u202egnihton\n",
	"scalars":  "1\n\"text\"\nnull\ntrue\n",
	"no end":   "",
	"long":     strings.Repeat("x", 100_000) + "\n",
	"carriage": "a\r\nb\r\n",
	"many":     strings.Repeat("line\n", 500),
	"braces":   "{" + strings.Repeat("x", 100_000) + "}\n",
}

// bannerServer writes a banner before and between its messages. Some modes write no messages.
func bannerServer(mode string) int {
	mode, what, _ := strings.Cut(mode, ":")
	banner := banners[what]
	out := bufio.NewWriter(os.Stdout)
	fmt.Fprint(out, banner)
	_ = out.Flush()
	if mode == "exits" {
		return 0
	}
	if mode == "noise" {
		for {
			if _, err := fmt.Fprintln(os.Stdout, "noise"); err != nil {
				return 1
			}
		}
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil || mode == "silent" {
			continue
		}
		end := "\n"
		if what == "carriage" {
			end = "\r\n"
		}
		version := "2025-06-18"
		if mode == "version" {
			version = "1999-12-31"
		}
		if mode == "breaks" {
			_ = os.Stdin.Close()
		}
		switch m.Method {
		case "initialize":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`, m.ID, version)
		case "tools/list":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"get","inputSchema":{"type":"object"}}]}}`, m.ID)
		case "tools/call":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"got"}]}}`, m.ID)
		default:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
		if mode == "breaks" { // the client's next message cannot be written, and only then the reason comes
			fmt.Fprint(out, end)
			_ = out.Flush()
			time.Sleep(10 * time.Millisecond)
			fmt.Fprint(os.Stdout, banner)
			return 3
		}
		fmt.Fprint(out, end+strings.TrimPrefix(banner, "\ufeff"))
		if out.Flush() != nil {
			return 1
		}
	}
	return 0
}

func TestLinesThatAreNoMessagesAreSkipped(t *testing.T) {
	for what := range banners {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := start(t, "speaks:"+what, func(c *mcptoolset.Config) { c.Wait = patience })
			res, err := call(t, s, nil, "r", "s_get", `{}`)
			require.NoError(t, err, "%v", s.Status().Err)
			require.Equal(t, "got", res.Text)
		})
	}
}

// An error names the cause: what a server wrote instead of messages, to its end, or the version that it speaks.
func TestErrorsNameWhatAServerWrote(t *testing.T) {
	for mode, want := range map[string][]string{
		"exits:banner":   {"exited with code 0", "standard output had lines that are not messages", "Starting server on stdio...", "Version 1.0"},
		"exits:escapes":  {`\\u001b[32mgreen`, `\\u202e`},
		"exits:log":      {"[INFO] ready", "{INFO: braces}"},
		"exits:scalars":  {"and 1 more lines"},
		"breaks:many":    {"exited with code 3", "and 997 more lines"},
		"silent:banner":  {"no connection within", "Starting server"},
		"noise:":         {"noise", "keeps writing"},
		"version:banner": {`unsupported protocol version: "1999-12-31"`, "this program knows", "2025-06-18", "Starting server"},
		"version:no end": {`unsupported protocol version: "1999-12-31"`},
		"exits:no end":   {"exited with code 0"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			s := start(t, mode, func(c *mcptoolset.Config) {
				c.Wait, c.ConnectTimeout = patience, patience
				if strings.HasPrefix(mode, "silent") {
					c.ConnectTimeout = time.Second
				}
			})
			require.Empty(t, list(t, s, mcptoolset.Options[none]{}))
			text := s.Status().Err.Error()
			for _, part := range want {
				require.Contains(t, text, part)
			}
			require.Less(t, len(text), 1000)
			require.NotContains(t, text, "\x1b")
		})
	}
}
